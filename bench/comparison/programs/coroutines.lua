-- SPDX-License-Identifier: MIT
-- Two coroutines in the same functions: 2,000 calls of step, which yields; meanwhile 1,000 of between work.
local function leaf() end
local function step()
  leaf()
  coroutine.yield()
end
local function worker()
  for _ = 1, 1000 do step() end
end
local function between()
  local sum = 0
  for i = 1, 20000 do sum = sum + i % 7 end
  return sum
end
return function()
  local a, b = coroutine.wrap(worker), coroutine.wrap(worker)
  for _ = 1, 1000 do
    a()
    between()
    b()
  end
  a()
  b()
end
