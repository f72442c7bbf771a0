-- Runs until the file named by its first argument is there: a stack of 5 calls below the loop, a
-- coroutine that is resumed again and again, an error now and then, and C calls that take time.
local stop = arg[1]
local function leaf(x) return x + 1 end
local function body() local s = 0 while true do for i = 1, 20 do s = leaf(s) end coroutine.yield(s) end end
local function bad() error("now and then") end
local co = coroutine.wrap(body)
local function turn() co() pcall(bad) io.popen("sleep 0.01"):close() end
local function deep(n)
  if n > 0 then local r = deep(n - 1) return r end
  for i = 1, 50000 do
    turn()
    if io.open(stop) then return 1 end
  end
  error("waited too long for " .. stop)
end
print(deep(5))
-- SPDX-License-Identifier: MIT
