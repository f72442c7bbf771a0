-- SPDX-License-Identifier: MIT
-- Errors inside of __gc functions end there; what was interrupted continues.
local function bad(n) --:bad
  if n == 0 then error("x", 0) end
  bad(n - 1)
  return n
end
local function make() --:make
  getmetatable(newproxy(true)).__gc = function() --:gc
    pcall(bad, 2)
    bad(1)
  end
end
local function collect() --:collect
  pcall(collectgarbage)
end
local function work(n) --:work
  if n > 0 then return (work(n - 1)) end
  make()
  collect()
end
for i = 1, 30 do
  work(2)
end
collect()
print("ok")
