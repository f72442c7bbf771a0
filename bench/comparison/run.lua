-- SPDX-License-Identifier: MIT
-- Runs a program of the comparison under a profiler, which is a module with start() and stop(); stop returns
-- rows { name, file, line, calls, inclusive, self } (times in seconds; line 0: a C function).
--   luajit run.lua PROGRAM PROFILER|none
-- Writes a line for each row, and "elapsed SECONDS" (wall) of the program.
local program, profiler = dofile(arg[1]), arg[2] ~= "none" and require(arg[2])
local ffi = require "ffi"
ffi.cdef "typedef struct { long s, ns; } comparison_time; int clock_gettime(int, comparison_time *);"
local time = ffi.new("comparison_time")
local function now()
  ffi.C.clock_gettime(1, time)
  return tonumber(time.s) + tonumber(time.ns) / 1e9
end

if profiler then profiler.start() end
local begin = now()
program()
local elapsed = now() - begin
local rows = profiler and profiler.stop() or {}
for _, r in ipairs(rows) do
  io.write(("row\t%s\t%s\t%d\t%d\t%.9f\t%.9f\n"):format(r.name, r.file or "", r.line, r.calls, r.inclusive, r.self))
end
io.write(("elapsed\t%.6f\n"):format(elapsed))
