-- SPDX-License-Identifier: MIT
-- Several files, of several processes, become one summary.
local trace, check = require "luatrace", require "check"
local program = check.folder .. "/program.lua"
local file = assert(io.open(program, "w"))
file:write([[
local trace = require "luatrace"
local function work() end
assert(trace.start { file = arg[1] })
for _ = 1, arg[2] do work() end
assert(trace.stop())
]])
file:close()
local one, two = check.folder .. "/1.bin", check.folder .. "/2.bin"
check.output(("luajit %s %s 10 && luajit %s %s 20"):format(program, one, program, two))
local text = check.output("luatrace-analyze --json " .. one .. " " .. two)
check.equal("calls", text:match('"name": "work"[^}]*"calls": (%d+)'), "30")
