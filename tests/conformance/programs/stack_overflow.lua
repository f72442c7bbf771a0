-- SPDX-License-Identifier: MIT
-- A recursion without end, caught; how deep it went is left open.
local function endless(n) --:endless
  return 1 + endless(n + 1)
end
local function guard() --:guard
  local ok, e = pcall(endless, 1)
  return ok
end
local function after() return 1 end --:after
for i = 1, 3 do
  assert(not guard())
  after()
end
print("caught")
