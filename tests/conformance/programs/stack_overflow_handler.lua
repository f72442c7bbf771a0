-- SPDX-License-Identifier: MIT
-- Stack overflow under xpcall: the handler finds room to run.
local function endless(n) --:endless
  local x = endless(n + 1)
  return x
end
local function note(e) return "overflow" end --:note
local function handler(e) --:handler
  return note(e)
end
for i = 1, 2 do
  local ok, e = xpcall(endless, handler, 1)
  print(ok, e)
end
