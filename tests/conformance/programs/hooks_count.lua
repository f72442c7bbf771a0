-- SPDX-License-Identifier: MIT
-- A count hook that ends an endless loop by an error.
local function hook() error("enough", 0) end --:hook
local function spin() --:spin
  local i = 0
  while true do i = i + 1 end
end
local function guard() --:guard
  local ok, e = pcall(function() --:limited
    debug.sethook(hook, "", 1000)
    spin()
  end)
  debug.sethook()
  return e
end
jit.off(spin)
print(guard())
