-- SPDX-License-Identifier: MIT
-- A call hook of the program: the hook is a Lua function inside the call that it reports.
local names = {}
local function f() return 1 end --:f
local function g() return f() + 1 end --:g
local function hook(event) --:hook
  names[#names + 1] = event
end
debug.sethook(hook, "c")
g()
debug.sethook()
g()
print(#names)
