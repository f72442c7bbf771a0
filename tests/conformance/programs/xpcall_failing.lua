-- SPDX-License-Identifier: MIT
-- An error in the handler is not handled again; the handler's call is removed too.
local function handler(e) --:handler
  error("worse")
end
local function f() error("bad") end --:f
local out = {}
for i = 1, 40 do
  local ok, e = xpcall(f, handler)
  out[#out + 1] = tostring(ok)
end
print(#out, out[1])
