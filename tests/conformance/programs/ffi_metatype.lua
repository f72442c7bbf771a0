-- SPDX-License-Identifier: MIT
-- Methods and operators of cdata: Lua functions found by ffi.metatype.
local ffi = require("ffi")
ffi.cdef("typedef struct { double x, y; } conformance_point;")
local point
local mt = {}
mt.__index = {}
function mt.__index.len(p) return p.x * p.x + p.y * p.y end --:len
function mt.__add(a, b) --:add
  local r = point(a.x + b.x, a.y + b.y)
  return r
end
function mt.__call(p, n) return p.x * n end --:call
point = ffi.metatype("conformance_point", mt)
local sum = 0
for i = 1, 200 do
  local p = point(i, 1) + point(1, i)
  sum = (sum + p:len() + p(2)) % 10007
end
print(sum)
