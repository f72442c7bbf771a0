-- SPDX-License-Identifier: MIT
-- Wrong types, names and states; a full disk; nothing is lost.
local trace, check = require "luatrace", require "check"
local function work() end
check.throws("start: unknown option 'foo'", trace.start, { foo = 1 })
check.throws("file must be a string, not a number", trace.start, { file = 1 })
check.throws("include must be an array of strings", trace.start, { include = { 1 } })
check.throws("table expected, got string", trace.start, "x")
check.throws("unknown option 'number'", trace.start, { 1 })
check.throws("string expected, got no value", trace.dump_to)
check.refuses("--ring-size: '5' is not a size", trace.start, { ring_size = 5 })
check.refuses("--c-functions", trace.start, { c_functions = "some" })
check.refuses("/no/such/x.bin: cannot open", trace.start, { file = "/no/such/x.bin" })
check.refuses("the file's name is empty", trace.start, { file = "" })
check.equal("running", trace.is_running(), false)

assert(trace.start { file = "/dev/full" })
for _ = 1, 100000 do work() end
check.refuses("No space left on device", trace.stop)
check.refuses("no recording has been started", trace.stop)

assert(trace.start { include = "*/nothing" })
work()
check.refuses("/dev/full: ", trace.dump_to, "/dev/full", { format = "json" })
assert(trace.stop())
check.no_row(trace.report(), "work")
check.throws("report: unknown option 'foo'", trace.report, { foo = 1 })
check.refuses("invalid regular expression", trace.report, { by = "thread,nothing(" })
