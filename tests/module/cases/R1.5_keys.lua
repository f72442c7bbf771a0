-- SPDX-License-Identifier: MIT
-- One row for each definition; C functions have names; starting in mid-stack is safe; a hook of the
-- program's own keeps working; an error closes what it leaves.
local trace, check = require "luatrace", require "check"
local lines = 0
debug.sethook(function() lines = lines + 1 end, "l")
local hook = debug.gethook()
local function make()
  return function() return 1 end
end
local function fails() error({}) end
local function middle()
  assert(trace.start())
  for _ = 1, 5 do make()() end
  for _ = 1, 3 do pcall(fails) end
  return string.rep("x", 3)
end
middle()
local before = lines
local x = 1
x = x + 1
assert(lines > before, "the hook has stopped")
check.equal("hook", debug.gethook(), hook)
debug.sethook()
local rows = assert(trace.report())
assert(trace.stop())
check.equal("make", check.row(rows, "make").calls, 5)
local closures = 0
for _, row in ipairs(rows) do
  if row.line == check.row(rows, "make").line + 1 then closures = closures + row.calls end
end
check.equal("closures of one definition", closures, 5)
local f = check.row(rows, "fails")
check.equal("failed calls", f.calls .. " " .. f.complete, "3 3")
check.equal("the function that was running at the start", check.row(rows, "middle").calls, 0)
check.equal("kind", check.row(rows, "error").kind, "builtin")
