-- SPDX-License-Identifier: MIT
-- gate.lua DIR WORK [HOW]: says DIR/ready, waits for DIR/go, works, says
-- DIR/done, waits for DIR/end. HOW to wait: spin (calls C all the time; with pauses, since
-- millions of events a second fill any ring of a recorder that the machine lets wait) or
-- sleep (in C, not to be reached meanwhile).
local dir, file, how = arg[1], arg[2], arg[3] or "spin"
local name = arg[4] or ""
local ffi = require("ffi")
ffi.cdef("int usleep(unsigned);")
local work = dofile(file)
local function exists(what)
  local f = io.open(dir .. "/" .. what)
  if f then f:close() end
  return f
end
local function say(what) io.open(dir .. "/" .. what .. name, "w"):close() end
local function wait(what)
  while not exists(what) do
    ffi.C.usleep(how == "sleep" and 20000 or 50)
  end
end
say("ready")
wait("go")
work()
say("done")
wait("end")
