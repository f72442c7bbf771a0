-- SPDX-License-Identifier: MIT
-- Counts and time per function without touching the program: all closures of a definition are one row,
-- by file and line; coroutines and closures that were collected are in it.
local trace, check = require "luatrace", require "check"
local function spawn(i)
  return coroutine.wrap(function()
    for _ = 1, i do coroutine.yield() end
  end)
end
assert(trace.start())
for i = 1, 50 do
  local step = spawn(i)
  for _ = 1, i + 1 do step() end
end
collectgarbage()
collectgarbage()
local rows = trace.report()
assert(trace.stop())
local bodies, count = 0, 0
for _, row in ipairs(rows) do
  if row.line == 6 then
    count, bodies = count + 1, bodies + row.calls
    check.equal("chunk", row.chunk:match("[^/]*$"), "R2.1_counts.lua")
    assert(row.inclusive_ns > 0 and row.self_ns <= row.inclusive_ns)
  end
end
check.equal("rows", count, 1)
check.equal("calls", bodies, 50)
