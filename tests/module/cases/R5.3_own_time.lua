-- SPDX-License-Identifier: MIT
-- The profiler's own time is no function's of the program: reports are calls of [luatrace], and the
-- cost of each event is measured and corrected for; giving pages to a ring that is new, four blocks
-- at a time, is neither. The clock is the wall's, or the processor's.
local trace, check = require "luatrace", require "check"
local function reports()
  for _ = 1, 10 do assert(trace.report()) end
end
local function empty() end
local function calls()
  for _ = 1, 1e5 do empty() end
end
jit.off(calls, true)
assert(trace.start())
trace.section("reports", reports)
calls()
local spent = trace.sections("reports").time * 1e9
local rows = trace.report { options = { "--compensate" } }
local own, row = check.row(rows, "[luatrace]"), check.row(rows, "reports")
assert(own.self_ns > spent / 2, own.self_ns .. " of " .. spent .. " ns are reports")
assert(row.self_ns < spent / 10, row.self_ns .. " of " .. spent .. " ns were charged")
local s = trace.stats()
assert(s.events > 2e5 and s.lost == 0 and s.bytes > 0 and s.cost_per_event_ns > 0 and s.cost_per_event_ns < 10000)
row = check.row(rows, "calls")
assert(row.inclusive_corrected_ns < row.inclusive_ns and row.inclusive_corrected_ns >= 0)
assert(trace.stop())

for _, compiled in ipairs { false, true } do
  if compiled then jit.on(calls, true) end
  assert(trace.start { ring_size = "4M" })
  calls()
  check.equal("times that a new ring got pages, and the report", check.row(trace.report(), "[luatrace]").calls, 7)
  assert(trace.stop())
end

-- In the middle of a stack's report nothing comes between its frames.
local left = 20000
local function starts()
  assert(trace.start { ring_size = "4M" })
  return 0
end
local function descends()
  left = left - 1
  return left == 0 and starts() or 1 + descends()
end
jit.off(descends)
check.equal("calls", descends(), 19999)
local trust = trace.dump { format = "json" }:match('"trust".-%}')
assert(trust:find('"unbalanced": 0', 1, true), trust)
check.equal("calls that ran when it began", trust:match('"open_start": 20%d%d%d[^%d]') ~= nil, true)
assert(trace.stop())

-- The rate of the clock is what is known when the report is made, not the first estimate.
local file = os.getenv("SCRATCH") .. "/rate.bin"
assert(trace.start { file = file })
check.spin(0.2)
assert(trace.report())
local text = check.output("luatrace-analyze --dump " .. file .. " | grep -E '^(clock|sync)'")
local mult, shift = text:match "clock tsc mult=(%d+) shift=(%d+)"
local tick, ns, last_tick, last_ns = text:match "sync (%d+) mono=(%d+).*sync (%d+) mono=(%d+)"
assert(last_ns - ns > 0.1e9, text)
assert(mult or text:find("^clock monotonic"), text)
local error_of_rate = mult and mult / 2 ^ shift / ((last_ns - ns) / (last_tick - tick)) - 1 or 0
assert(math.abs(error_of_rate) < 1e-4, error_of_rate)
assert(trace.stop())

local function sleeps() os.execute("sleep 0.3") end
local started, why = trace.start { cpu = true }
if not started then
  assert(tostring(why):find("cpu", 1, true), why)
  io.stderr:write("no CPU times here: ", why, "\n")
  return
end
sleeps()
check.spin(0.1)
row = check.row(trace.report(), "sleeps")
assert(row.inclusive_ns > 0.3e9 and row.cpu_ns < 0.15e9, row.inclusive_ns .. " " .. row.cpu_ns)
assert(trace.stop())
