-- SPDX-License-Identifier: MIT
-- __gc functions run inside a full collection, at a fixed place.
local freed = 0
local function drop(n) freed = freed + n end --:drop
local function make() --:make
  local p = newproxy(true)
  getmetatable(p).__gc = function() --:gc
    drop(1)
  end
end
local function collect() --:collect
  collectgarbage()
end
for i = 1, 30 do
  make()
  collect()
end
collect()
print(freed)
