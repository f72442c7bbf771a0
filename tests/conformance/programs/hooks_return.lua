-- SPDX-License-Identifier: MIT
-- A return hook runs before the call that it reports is over.
local count = 0
local function f() return 1 end --:f
local function g() return f() + 1 end --:g
local function hook(event) --:hook
  count = count + 1
end
debug.sethook(hook, "r")
g()
debug.sethook()
g()
print(count > 0)
