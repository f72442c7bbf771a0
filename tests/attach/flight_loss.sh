#!/bin/bash
# SPDX-License-Identifier: MIT
#
# luatrace-record --flight --slow: a call in which events are lost is slow if it is after the loss, and what
# cannot be known is said. A function of a module, which an attached process knows by the module, is found by
# the name that it was defined with, by --watch, too.
source "$(dirname "$0")/lib.sh"
need_way direct
cat >"$scratch/modh.lua" <<'END'
local scratch = arg[1]
local ffi = require "ffi"
ffi.cdef "int usleep(unsigned);"
local function exists(name)
  local f = io.open(scratch .. "/" .. name)
  if f then f:close() end
  return f
end
local function tiny(i) return i + 1 end
local M = {}
function M.handle(turn)
  local s = 0
  if turn > 1 then io.open(scratch .. "/inside", "w"):close() end
  repeat
    for i = 1, 1000 do s = tiny(s) end
  until turn == 1 or exists("quiet")
  while turn > 1 and not exists("go") do ffi.C.usleep(1000) end
  return s
end
return { handle = M.handle, exists = exists }
END
cat >"$scratch/lossy.lua" <<'END'
local modh, last = require "modh", os.time() + 300
io.open(arg[1] .. "/ready", "w"):close()
while not modh.exists("start") and os.time() < last do modh.handle(1) end
modh.handle(2)
END
cd "$scratch"
begin "$bin/luajit" lossy.lua "$scratch"
ready
"$bin/luatrace-record" -q --watch handle --print turn --count 1 -p $target >"$scratch/values" || fail "--watch"
grep -q 'turn=1' "$scratch/values" || fail "--watch: $(cat "$scratch/values")"
record --flight 256K --slow handle=100ms -p $target
recording
kill -STOP $recorder
touch "$scratch/start"
within 20 "the call" test -e "$scratch/inside"
works $target 20
touch "$scratch/quiet"
kill -CONT $recorder
sleep 0.5 # at least, which is more than the limit
touch "$scratch/go"
ended
finish 0
logged 'snapshot \(handle took more than ' || fail "not found: $(cat "$scratch/record.err")"
logged 'could not be judged' || fail "not said: $(cat "$scratch/record.err")"
