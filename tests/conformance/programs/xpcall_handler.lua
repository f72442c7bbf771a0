-- SPDX-License-Identifier: MIT
-- The handler runs on top of the failing calls, before they are removed.
local function note(e) return "handled" end --:note
local function handler(e) --:handler
  return note(e) .. " " .. tostring(e)
end
local function g(x) --:g
  if x == 1 then error("plain", 0) end
  if x == 2 then local y = nil + x end
  return x
end
local function f(x) return g(x) + 1 end --:f
local out = {}
for i = 1, 60 do
  local ok, v = xpcall(f, handler, i % 3)
  out[#out + 1] = tostring(v):sub(1, 7)
end
print(table.concat(out, ","))
