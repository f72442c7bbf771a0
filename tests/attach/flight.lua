-- SPDX-License-Identifier: MIT
-- Does a little work for ever, inside calls that began long ago: serve, and parked in a coroutine
-- that waits. Each line of the file arg[1] is a job: "slow" is a slow call of handle, whose callee
-- is not in the trace otherwise; "error" one that fails; "end".
local ffi = require "ffi"
ffi.cdef "int usleep(unsigned);"

local function step(x) return x + 1 end
local function rare() ffi.C.usleep(80000) end

local function handle(job)
  for _ = 1, 40 do step(1) end
  if job == "slow" then rare() end
  if job == "error" then error("planted") end
end

local function parked() coroutine.yield() end
local waits = coroutine.create(parked)
coroutine.resume(waits)

local function jobs(done)
  local file = io.open(arg[1])
  if not file then return done end
  local n = 0
  for job in file:lines() do
    n = n + 1
    if n > done then
      if job == "end" then return nil end
      if job == "slow" then  -- spread over a coroutine's resumes, as in a server
        local co = coroutine.wrap(function() handle(job) coroutine.yield() end)
        co() co()
      else
        pcall(handle, job)
      end
    end
  end
  file:close()
  return n
end

local function serve()
  local done = 0
  repeat
    for _ = 1, 20 do handle("") end
    ffi.C.usleep(1000)
    done = jobs(done)
  until not done
  return coroutine.resume(waits)
end
serve()
