-- SPDX-License-Identifier: MIT
-- More functions, stacks, coroutines, open calls and places of errors than small tables hold.
local function make(i, code) return loadstring(code, "@made" .. i .. ".lua")() end
local coroutines = {}
for i = 1, 200 do
  local body = make(i, "return function() coroutine.yield() error('end') end")
  coroutines[i] = coroutine.create(body)
  coroutine.resume(coroutines[i])
end
for i = 1, 200 do coroutine.resume(coroutines[i]) end
for i = 1, 200 do pcall(make(i, "return function() local function f() error('planned') end f() end")) end
local function dive(n) if n == 0 then return 0 end return 1 + dive(n - 1) end
dive(50)
