-- SPDX-License-Identifier: MIT
-- max_depth: what is deeper has no rows.
local trace, check = require "luatrace", require "check"
local function inner() return 1 end
local function middle() return (inner()) end
local function outer() return (middle()) end
for depth, names in ipairs { {}, { "outer" }, { "outer", "middle" }, { "outer", "middle", "inner" } } do
  assert(trace.start { max_depth = depth })
  for _ = 1, 10 do outer() end
  assert(trace.stop())
  local rows = assert(trace.report())
  for _, name in ipairs(names) do check.equal("calls of " .. name, check.row(rows, name).calls, 10) end
  check.equal("rows with depth " .. depth, #rows, 1 + #names) -- and the main chunk's
end
