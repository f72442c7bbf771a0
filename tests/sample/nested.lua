-- SPDX-License-Identifier: MIT
local function spin(n) local x = 0 for i = 1, n do x = x + i % 7 end return x end
local function go(n)
  if mode == "plain" then return 1 + (other(n) or 0) end
  return 1 + (coroutine.wrap(function() return 1 + (other(n) or 0) end)() or 0)
end
function step(n)
  spin(work)
  if n > 0 then
    go(n - 1)
    spin(work)
  end
  return 1
end
function run()
  local till = os.clock() + seconds
  while os.clock() < till do step(5) end
  return 1
end
