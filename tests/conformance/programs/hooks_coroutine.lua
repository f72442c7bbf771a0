-- SPDX-License-Identifier: MIT
-- The hook is the Lua VM's: it runs in the coroutines too.
local n = 0
local function hook() n = n + 1 end --:hook
local function f() return 1 end --:f
local function body() --:body
  f()
  coroutine.yield()
  f()
end
local co = coroutine.create(body)
debug.sethook(hook, "c")
coroutine.resume(co)
coroutine.resume(co)
debug.sethook()
print(n > 0)
