-- SPDX-License-Identifier: MIT
-- LuaProfile's columns, in its order.
local trace, check = require "luatrace", require "check"
local function work() end
assert(trace.start())
for _ = 1, 7 do work() end
assert(trace.stop())
local text = trace.dump { format = "luaprofile" }
check.equal("header", text:match("^[^\n]*"),
  "File Name,Line,Function Name,Call Times,Full Call Clock(Total),Full Call Clock(Avg.)," ..
  "Inner Call Clock(Total),Inner Call Clock(Avg.),Native Call Clock(Total),Native Call Clock(Avg.)")
check.equal("calls", text:match("[^\n]*R1.2_csv.lua,4,work,(%d+),"), "7")
