-- SPDX-License-Identifier: MIT
-- start, stop, pause, resume, reset, C functions on and off, dump, dump_to.
local trace, check = require "luatrace", require "check"
local function work() return (string.rep("x", 3)) end
local function call(n) for _ = 1, n do work() end end

check.equal("before the start", trace.is_running(), false)
check.refuses("no recording is running", trace.stop)
check.refuses("no recording is running", trace.pause)
check.refuses("there is no trace", trace.report)
assert(trace.start { c_functions = "all" })
check.equal("running", trace.is_running(), true)
check.refuses("has been started already", trace.start)
call(10)
assert(trace.pause())
check.equal("paused", trace.is_running(), false)
call(100)
assert(trace.resume())
check.equal("resumed", trace.is_running(), true)
call(1)
local rows = assert(trace.report())
check.equal("calls", check.row(rows, "work").calls, 11)
check.equal("calls of a C function", check.row(rows, "string.rep").calls, 11)
assert(trace.reset())
call(2)
check.equal("calls after reset", check.row(trace.report(), "work").calls, 2)
assert(trace.stop())
call(50) -- LuaProfile's stop() did nothing
check.equal("calls after stop", check.row(trace.report(), "work").calls, 2)

assert(trace.start { c_functions = "none" })
call(3)
assert(trace.stop())
check.no_row(trace.report(), "string.rep")
local path = check.folder .. "/out.csv"
assert(trace.dump_to(path, { format = "csv" }))
check.equal("file", assert(io.open(path)):read("*a"), trace.dump { format = "csv" })
check.refuses("/no/such/folder/x: No such file", trace.dump_to, "/no/such/folder/x")
check.refuses("invalid value 'nonsense'", trace.dump, { format = "nonsense" })
