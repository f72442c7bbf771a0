-- SPDX-License-Identifier: MIT
-- Runs a benchmark program several times in one process and reports how long each run took:
--   luajit run.lua PROGRAM SIZE REPETITIONS LAYOUT [PROFILER]
-- LAYOUT, a number, varies where in memory the programs' code is.
-- Each repetition loads the program again and begins without compiled code:
-- traces are specialised to closures, so a second run of the same chunk would
-- be another program (fib: three times slower). It writes a line
-- "elapsed CPU_SECONDS" to stderr; the program's own output is unchanged.
-- With PROFILER (a module with start and stop), each repetition runs under it
-- and the number of calls that it saw is written as "calls N".
local program, size, repetitions = arg[1], arg[2], tonumber(arg[3])
local layout, profiler = tonumber(arg[4]), arg[5]
local clock = os.clock
local profile = profiler and require(profiler)

local function timed(chunk)
  local start = clock()
  chunk(size)
  return clock() - start
end

local ballast = {}  -- Kept, so that what is allocated next has another address.
for i = 1, repetitions do
  collectgarbage()
  ballast[i] = ("x"):rep(16 * (37 * layout + i) % 1024 + 16)
  local chunk = assert(loadfile(program))
  jit.flush()
  collectgarbage()
  if profile then profile.start() end
  local elapsed = timed(chunk)
  if profile then io.stderr:write("calls ", profile.stop(), "\n") end
  io.stderr:write(string.format("elapsed %.6f\n", elapsed))
end
