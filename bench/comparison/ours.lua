-- SPDX-License-Identifier: MIT
-- This project, from inside.
local trace = require "luatrace"
local M = {}
function M.start() assert(trace.start { c_functions = "all", ring_size = "64M" }) end
function M.stop()
  assert(trace.stop())
  local rows = {}
  for _, f in ipairs(assert(trace.report())) do
    rows[#rows + 1] = { name = f.name, file = f.chunk, line = f.kind == "lua" and f.line or 0, calls = f.calls,
                        inclusive = f.inclusive_ns / 1e9, self = f.self_ns / 1e9 }
  end
  return rows
end
return M
