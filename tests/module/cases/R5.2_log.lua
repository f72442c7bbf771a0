-- SPDX-License-Identifier: MIT
-- LuaProfiler's log: a line for each call, at its return, with the level, the place of the definition, and
-- the local and the total time; importable as a table separated by tabs.
local trace, check = require "luatrace", require "check"
local function inner() check.output("true") end
local function outer()
  inner()
  inner()
end
assert(trace.start { include = "*R5.2_log.lua", c_functions = "none" })
outer()
assert(trace.stop())

local rows, names = {}, nil
for line in trace.dump({ format = "luaprofiler" }):gmatch("[^\n]+") do
  local cells = {}
  for cell in (line .. "\t"):gmatch("([^\t]*)\t") do cells[#cells + 1] = cell end
  check.equal("columns of " .. line, #cells, 7)
  if not names then
    names = cells
  elseif cells[3] == "inner" or cells[3] == "outer" then
    local row = {}
    for i, name in ipairs(names) do row[name] = cells[i] end
    rows[#rows + 1] = row
  end
end
check.equal("calls", #rows, 3)
for i, name in ipairs { "inner", "inner", "outer" } do check.equal("line " .. i, rows[i].function_name, name) end
check.equal("the level of inner", rows[1].stack_level - rows[3].stack_level, 1)
check.equal("where inner is defined", rows[1].line_defined, "5")
assert(rows[1].file_defined:find("R5.2_log.lua", 1, true))
for _, row in ipairs(rows) do assert(row.local_time + 0 <= row.total_time + 0) end
local sum = rows[1].total_time + rows[2].total_time + rows[3].local_time
assert(math.abs(sum - rows[3].total_time) < 1e-8, "the local time is not the total time without the callees")
