-- SPDX-License-Identifier: MIT
-- __concat between eight operands of one instruction (LuaJIT#839: recording it lost a slot).
local mt = {}
function mt.__concat(a, b) --:concat
  return (type(a) == "string" and a or a[1]) .. (type(b) == "string" and b or b[1])
end
local a, b = setmetatable({ "a" }, mt), setmetatable({ "b" }, mt)
for i = 1, 300 do
  assert(a .. a .. a .. "x" .. "x" .. a .. a .. b == "aaaxxaab")
end
