-- SPDX-License-Identifier: MIT
-- The profile of one coroutine, the rows of all, and the merged report.
local trace, check = require "luatrace", require "check"
local function work() coroutine.yield() end
local function body(n) for _ = 1, n do work() end end
local function drive(co, n) while coroutine.resume(co, n) and coroutine.status(co) ~= "dead" do end end
local one, two = coroutine.create(body), coroutine.create(body)
assert(trace.start())
drive(one, 3)
drive(two, 4)
check.equal("one", check.row(trace.report { coroutine = one }, "work").calls, 3)
check.equal("two", check.row(trace.report { coroutine = two }, "work").calls, 4)
check.equal("all", check.row(trace.report(), "work").calls, 7)
local resumes = 0
for _, row in ipairs(trace.report { by = "coroutine" }) do resumes = resumes + row.resumes end
check.equal("resumes", resumes, 4 + 5)
-- Their rows have what those of functions have, and sort by it.
local rows = assert(trace.report { by = "coroutine", sort = "calls" })
local calls, self = {}, 0
for i, row in ipairs(rows) do
  assert(row.name:find("^coroutine 1:%d+$"), row.name)
  assert(row.self_ns <= row.inclusive_ns, row.name)
  assert(i == 1 or row.calls <= rows[i - 1].calls, "order")
  calls[row.calls] = true
end
-- body, and work and yield for each turn
assert(calls[1 + 2 * 3] and calls[1 + 2 * 4])
check.throws("coroutine must be a coroutine, not a number", trace.report, { coroutine = 1 })
assert(trace.stop())
