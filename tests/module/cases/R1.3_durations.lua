-- SPDX-License-Identifier: MIT
-- Full, inner and native time: with callees, without them, and that of C functions.
local trace, check = require "luatrace", require "check"
local sort, numbers = table.sort, {}
local function native()
  for i = 1, 20000 do numbers[i] = (i * 7919) % 20011 end
  sort(numbers)
end
local function outer() native() end
assert(trace.start())
outer()
assert(trace.stop())
local rows = trace.report()
local n, o, s = check.row(rows, "native"), check.row(rows, "outer"), check.row(rows, "table.sort")
check.equal("native time", n.c_ns, s.inclusive_ns)
check.equal("of a C function's caller's caller", o.c_ns, 0)
local of_vm = 0  -- collecting and compiling, below native as good as always
for _, row in ipairs(rows) do
  if row.name == "[GC]" or row.name == "[JIT]" or row.name == "[luatrace]" then of_vm = of_vm + row.self_ns end
end
local rest = n.inclusive_ns - n.self_ns - s.self_ns
assert(rest >= -2 and rest <= of_vm + 2, "parts") -- each is rounded
assert(o.inclusive_ns >= n.inclusive_ns and s.self_ns > 0 and o.self_ns <= o.inclusive_ns - n.inclusive_ns)
for _, field in ipairs { "name", "chunk", "line", "kind", "calls", "inclusive_ns", "self_ns", "wall_ns",
  "suspended_ns", "c_ns", "min_ns", "max_ns" } do
  assert(n[field] ~= nil, field)
end
check.equal("first row", trace.report { sort = "c", limit = 1 }[1].name, "native")
check.refuses("no number 'nonsense'", trace.report, { sort = "nonsense" })
