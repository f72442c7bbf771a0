-- SPDX-License-Identifier: MIT
-- LuaProfiler's log: a line for each call, tabs, its header.
local trace, check = require "luatrace", require "check"
local function work() end
assert(trace.start())
for _ = 1, 4 do work() end
assert(trace.stop())
local text = trace.dump { format = "luaprofiler" }
check.equal("header", text:match("^[^\n]*"):gsub("\t", " "),
  "stack_level file_defined function_name line_defined current_line local_time total_time")
check.equal("lines", select(2, text:gsub("\twork\t", "")), 4)
