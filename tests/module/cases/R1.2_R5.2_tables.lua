-- SPDX-License-Identifier: MIT
-- LuaProfile's columns in its order, and LuaProfiler's log: its header, and a line for each call.
local trace, check = require "luatrace", require "check"
local function work() end
assert(trace.start())
for _ = 1, 7 do work() end
assert(trace.stop())

local profile = trace.dump { format = "luaprofile" }
check.equal("header", profile:match("^[^\n]*"),
  "File Name,Line,Function Name,Call Times,Full Call Clock(Total),Full Call Clock(Avg.)," ..
  "Inner Call Clock(Total),Inner Call Clock(Avg.),Native Call Clock(Total),Native Call Clock(Avg.)")
check.equal("calls", profile:match("[^\n]*R1.2_R5.2_tables.lua,4,work,(%d+),"), "7")

local log = trace.dump { format = "luaprofiler" }
check.equal("header of the log", log:match("^[^\n]*"):gsub("\t", " "),
  "stack_level file_defined function_name line_defined current_line local_time total_time")
check.equal("lines of the log", select(2, log:gsub("\twork\t", "")), 7)
