-- SPDX-License-Identifier: MIT
-- Time between yield and resume belongs to no function of the suspended stack; two coroutines in
-- the same function do not disturb each other; data survives their collection.
local trace, check = require "luatrace", require "check"
local function inner() coroutine.yield() end
local function body() inner() end
local function round()
  local one, two = coroutine.wrap(body), coroutine.wrap(body)
  one() two()
  check.spin(0.2)
  two() one()
end
assert(trace.start())
round()
collectgarbage()
collectgarbage()
local rows = assert(trace.report())
assert(trace.stop())
for _, name in ipairs { "inner", "body" } do
  local row = check.row(rows, name)
  check.equal("calls of " .. name, row.calls .. " " .. row.complete, "2 2")
  assert(row.inclusive_ns < 0.1e9, "suspended time was charged: " .. row.inclusive_ns)
  assert(row.suspended_ns > 0.3e9, "twice 0.2 s were suspended: " .. row.suspended_ns)
end

-- Reports in between lose nothing of it, and their own time is no function's.
local function reports(n)
  for _ = 1, n do
    check.spin(0.1)
    assert(trace.report())
  end
end
assert(trace.start())
local co = coroutine.wrap(body)
co()
reports(2)
co()
rows = assert(trace.report())
assert(trace.stop())
assert(check.row(rows, "inner").suspended_ns > 0.2e9)
assert(check.row(rows, "[luatrace]").calls >= 3)  -- New pages of the ring are calls of it, too.
local made, own = check.row(rows, "reports"), check.row(rows, "[luatrace]").inclusive_ns
assert(made.inclusive_ns > 0.2e9 + own * 0.5 and made.self_ns < 0.1e9)
check.equal("coroutines", #assert(trace.report { by = "coroutine" }), 2)
