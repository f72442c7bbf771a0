#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Two losses in one recording, because the recorder is stopped twice; during the second, smaller one
# the program is killed, so only the ring's counter knows of it. Events that are there and events
# that are lost are all events, also if compiled code is recorded as segments.
source "$(dirname "$0")/lib.sh"
cat >"$scratch/twice.lua" <<'END'
local scratch, first, last = arg[1], tonumber(arg[2]), tonumber(arg[3])
local ffi = require("ffi")
ffi.cdef("int usleep(unsigned); int kill(int, int); int getpid(void);")
local function fib(n) -- 2*fib(n+1)-1 calls
  if n < 2 then return n end
  return fib(n - 1) + fib(n - 2)
end
local function touch(what) io.open(scratch .. "/" .. what, "w"):close() end
local function wait(what)
  for turn = 1, 30000 do
    local f = io.open(scratch .. "/" .. what)
    if f then return f:close() end
    ffi.C.usleep(10000)
  end
  error("waited too long for " .. what)
end
touch("ready")
wait("first")
fib(first)
touch("lost")
wait("taken")
for i = 1, 4 do fib(12) ffi.C.usleep(300000) end  -- it notices that the ring is free again
touch("noticed")
wait("second")
fib(last)
ffi.C.kill(ffi.C.getpid(), 9)
END
unseen=8192  # the last words before a kill: up to a block is not counted yet
waits=20000  # events of wait(), and what reports a stack

# both_losses TIMES FIRST LAST CALLS: with --times; the work is fib(FIRST) and fib(LAST), of so many calls.
both_losses() {
  local events=$((2 * ($4 + 4 * 465)))
  rm -f "$scratch"/{ready,first,lost,taken,noticed,second}
  gate "$bin/luajit" "$scratch/twice.lua" "$scratch" "$2" "$3"
  ready
  record --force -p $target --ring-size 256K --times "$1"
  recording
  stop_recorder
  touch "$scratch/first"
  within 20 "the first loss" test -e "$scratch/lost"
  kill -CONT $recorder
  ring_is_read() { [ "$(json "$scratch/trace.bin" 2>/dev/null | jq .trust.events)" -gt 20000 ]; }
  within 20 "the ring to be read" ring_is_read
  touch "$scratch/taken"
  within 20 "the end of the first loss" test -e "$scratch/noticed"
  stop_recorder
  touch "$scratch/second"
  ended 137
  kill -CONT $recorder
  finish 0
  json "$scratch/trace.bin" | jq -e ".trust | (.events + .lost) as \$all | .lost > 250000 and
    \$all >= $events - $unseen and \$all <= $events + $waits" >/dev/null ||
    fail "$events events of fib, but $(json "$scratch/trace.bin" | jq -c '.trust | {events, lost}')"
  logged 'LOST: [0-9,]+ events? in 2 gaps' || fail "not two gaps ($1): $(cat "$scratch/record.err")"
}
both_losses events 24 21 $((150049 + 35421))
both_losses auto 27 27 $((2 * 635621))  # several calls take one word
