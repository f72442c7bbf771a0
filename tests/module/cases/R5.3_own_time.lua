-- SPDX-License-Identifier: MIT
-- The profiler's own time is not the program's; its cost per event is measured.
local trace, check = require "luatrace", require "check"
local function reports()
  for _ = 1, 10 do assert(trace.report()) end
end
local clock = trace.section
assert(trace.start())
trace.section("reports", reports)
local spent = trace.sections("reports").time
local row = check.row(trace.report(), "reports")
assert(row.inclusive_ns / 1e9 < spent / 2, row.inclusive_ns / 1e9 .. " of " .. spent .. " s were charged")
local s = trace.stats()
assert(s.events > 0 and s.lost == 0 and s.bytes > 0 and s.cost_per_event_ns > 0 and s.cost_per_event_ns < 10000)
assert(trace.stop())
