-- SPDX-License-Identifier: MIT
-- The recorder is killed: the program goes on, and is told. (-o: not luatrace-listen, its copy, which then
-- removes the socket.)
local trace, check = require "luatrace", require "check"
local function work() end
local file = check.folder .. "/t.bin"
assert(trace.start { file = file })
for _ = 1, 5 do work() end
assert(trace.report())
os.execute("kill -9 $(pgrep -o -f -- '[-]-inside -q -o " .. file .. "')")
for _ = 1, 5 do work() end
check.refuses("luatrace-record has ended unexpectedly", trace.stop)
check.equal("running", trace.is_running(), false)
check.equal("what was written", check.row(trace.report(), "work").calls, 5)
assert(trace.start())
assert(trace.stop())
