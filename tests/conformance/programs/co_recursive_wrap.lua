-- SPDX-License-Identifier: MIT
-- Recursive generators: a tree walked by wraps inside wraps.
local function walk(t) --:walk
  if t then
    for v in coroutine.wrap(function() walk(t.left) end) do --:left
      coroutine.yield(v)
    end
    coroutine.yield(t.n)
  end
end
local function list(n) --:list
  if n == 0 then return nil end
  return { left = list(n - 1), n = n }
end
local sum = 0
for i = 1, 12 do
  for v in coroutine.wrap(function() walk(list(4)) end) do --:top
    sum = sum + v
  end
end
print(sum)
