-- SPDX-License-Identifier: MIT
-- Stack overflow under xpcall: the handler has enough stack to run.
local function endless(n) --:endless
  local x = endless(n + 1)
  return x
end
jit.off(endless) -- an error raised in compiled code finds no handler, in any LuaJIT
local function note(e) return "overflow" end --:note
local function handler(e) --:handler
  return note(e)
end
for i = 1, 2 do
  local ok, e = xpcall(endless, handler, 1)
  print(ok, e)
end
