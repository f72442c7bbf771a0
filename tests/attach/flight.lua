-- SPDX-License-Identifier: MIT
-- Does a little work for ever, inside a call that began long ago: serve. Each line of the file
-- arg[1] is a job: "slow" is a slow call of handle, whose callee is not called otherwise; "error"
-- one that fails; "park" runs a coroutine that then waits for ever; "end".
local ffi = require "ffi"
ffi.cdef "int usleep(unsigned);"

local function step(x) return x + 1 end
local function rare() ffi.C.usleep(80000) end

local function handle(job)
  for _ = 1, 40 do step(1) end
  if job == "slow" then rare() end
  if job == "error" then error("planted") end
end

local parked = coroutine.create(function()
  local function waits() coroutine.yield() end
  while true do waits() end
end)

local function jobs(done)
  local file = io.open(arg[1])
  if not file then return done end
  local n = 0
  for job in file:lines() do
    n = n + 1
    if n > done then
      if job == "end" then return nil end
      if job == "park" then
        coroutine.resume(parked)
      elseif job == "slow" then  -- spread over a coroutine's resumes, as in a server
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
  return done
end
serve()
