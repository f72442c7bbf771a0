-- SPDX-License-Identifier: MIT
-- What was wrong in xmake's profiler: recursion overwrote the start time of the outer call, coroutine
-- switches were charged to the coroutine that yields, one function was several rows by the names it was called with.
local trace, check = require "luatrace", require "check"

local function recurse(n)
  if n > 0 then recurse(n - 1) end
  check.spin(0.004)
end
local function yields()
  coroutine.yield()
end
local function between() check.spin(0.05) end
local function named() check.spin(0.001) end
local other, object = named, { method = named }

assert(trace.start())
recurse(5)
local resume = coroutine.wrap(yields)
resume()
between()
resume()
named()
other()
object.method()
object:method()
pcall(named)
assert(trace.stop())

local rows = trace.report()
local outer = check.row(rows, "recurse")
check.equal("calls of the recursion", outer.calls, 6)
assert(math.abs(outer.inclusive_ns - outer.max_ns) < 10, "the recursion is not its outer call, once")
assert(outer.inclusive_ns > 6 * 3.9e6, "the outer call does not have the time of the inner ones")
local suspended = check.row(rows, "yields")
assert(suspended.suspended_ns >= check.row(rows, "between").inclusive_ns, "the time between yield and resume is not known")
assert(suspended.wall_ns - suspended.inclusive_ns >= suspended.suspended_ns, "it is charged to the coroutine")
check.equal("one row, whatever the name", check.row(rows, "named").calls, 5)
for line in trace.dump({ format = "xmake" }):gmatch("[^\n]+") do
  assert(not line:find("R4_defects.lua: 14") or line:find(" 5, named : "), line)
end
