-- SPDX-License-Identifier: MIT
-- gate.lua DIR WORK [HOW [N]]: makes DIR/readyN, waits for DIR/go, does WORK, makes DIR/doneN, waits
-- for DIR/end; it fails after some minutes of waiting, and when DIR has been removed. HOW to wait: spin (calls C all the time, with pauses: otherwise millions of events a
-- second fill the ring while the recorder waits for a processor) or sleep (long, in C, where the VM
-- cannot be reached).
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
  for turn = 1, how == "sleep" and 15000 or 3000000 do
    if exists(what) then return end
    if turn % 1000 == 0 and not exists(".") then break end
    ffi.C.usleep(how == "sleep" and 20000 or 50)
  end
  error("waited too long for " .. what)
end
say("ready")
wait("go")
work()
say("done")
wait("end")
