-- SPDX-License-Identifier: MIT
-- gate.lua FILE PROGRAM [ARGUMENT...]: runs PROGRAM as soon as there is FILE. A tracer
-- that attached by then sees all of PROGRAM: io.open allocates, so the collector
-- runs, and there tracing is switched on.
local file, program = arg[1], arg[2]
arg = {[0] = program, unpack(arg, 3)}
local f
for i = 1, 3e8 do
  f = io.open(file)
  if f then break end
end
if not f then error("waited too long for " .. file) end
for i = 1, 2000 do io.open(file):close() end
dofile(program)
