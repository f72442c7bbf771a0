-- SPDX-License-Identifier: MIT
-- Coroutines that end, with others at their addresses, and some that stay. Each has a label of its own, `co`, and one
-- that some share, `tenant`; the main coroutine has none. Which function runs says which tenant it must be.
local till = os.clock() + seconds
local function spin(n) local x = 0 for i = 1, n do x = x + i % 7 end return x end
local function work_a() return 1 + spin(3000) end
local function work_b() return 1 + spin(1000) end
local function work_main() return 1 + spin(1000) end
local function inherits() return 1 + work_a() end

local function stays(work, tenant, name)
  return coroutine.wrap(function()
    label("tenant", tenant)
    label("co", vm .. "." .. name)
    while true do work() coroutine.yield() end
  end)
end
local a, b, n = stays(work_a, "a", "a"), stays(work_b, "b", "b"), 0
repeat
  a() b() work_main()
  n = n + 1
  local co = coroutine.create(function()
    label("tenant", "c")
    label("co", vm .. "." .. n)
    spin(1000)
    label("tenant", "a")
    inherits()
  end)
  coroutine.resume(co)
  if n % 16 == 0 then collectgarbage() end
until os.clock() >= till
