#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Which running code the recorder reaches, and what it reports about code that it does not. After
# detaching everything is as before.
source "$(dirname "$0")/lib.sh"

# reach NAME OPTIONS CODE
reach() {
  echo "$1"
  begin "$bin/luajit" $2 -e "$3"
  works $target 10  # it is in its loop, which is compiled
  record -p $target --max-size 4M
  recording
  kill -INT $recorder 2>/dev/null || true  # --max-size may have ended it
  finish 0
  (set +o pipefail; "$bin/luatrace-analyze" --dump "$scratch/trace.bin" | head -n 100) >"$scratch/dump"
  grep -qE '^[0-9]+ 1 stack [0-9]+ (activate|resumed) n=[1-9]' "$scratch/dump" ||
    fail "$1: the first events are not a complete stack"
  no_anomalies_but_loss "$scratch/trace.bin"
  grep -qE 'first event [0-9.]+ .?s after attaching' "$scratch/record.err" || fail "$1: no time of the first event"
  grep -q 'next: .*luatrace-analyze .*--flame' "$scratch/record.err" || fail "$1: no next command"
  detached $target "$1"
  kill $target
  ended 143
}
# On a busy machine events may be lost, and are then reported. Nothing else may be wrong.
no_anomalies_but_loss() {
  json "$1" | jq -e '.trust | .unbalanced + .bad_records + .clock_anomalies + .undescribed == 0' >/dev/null || {
    "$bin/luatrace-analyze" "$1" | tail -2 >&2
    fail "$1"
  }
}

reach "interpreted loop without calls" -joff 'local n = 0 while true do n = n + 1 end'
reach "interpreted calls" -joff 'local function f(x) return x + 1 end local n = 0 while true do n = f(n) end'
reach "interpreted recursion" -joff 'local function f(n) if n < 2 then return n end return f(n-1) + f(n-2) end f(60)'
reach "blacklisted loop" "" 'jit.off(true) local n = 0 while true do n = n + 1 end'
reach "nested compiled loops" "" 'local s = 0 while true do for i = 1, 1000 do s = s + i end end'
reach "allocating" "" 'local r, i = {}, 0 while true do i = i + 1 r[i % 8 + 1] = { i } end'
reach "calls of C" "" 'local t while true do t = os.clock() end'
reach "calls by FFI" "" 'local C = require("ffi").C require("ffi").cdef("int getppid(void);") while true do C.getppid() end'
reach "compiled recursion" "" 'local function f(n) if n < 2 then return n end return f(n-1) + f(n-2) end f(60)'
reach "one compiled loop" "" 'local s = 0 for i = 1, 1e15 do s = s + i % 7 end'
reach "a loop whose variable has another type now" "" 'local x, n = false, 0 for i = 1, 1e15 do
  if x then n = n + 1 end if i > 200 then x = i end end'
reach "a loop that interns strings" "" 'local a, b = "x", {"y"} for i = 1, 1e15 do local y = a .. b[1] if y ~= "xy" then error() end end'
reach "a loop whose strings exist" "" 'local t = {} for k = 0, 9 do t["k" .. k] = k end
  local s = 0 for i = 1, 1e15 do s = s + t["k" .. (i % 10)] end'
reach "garbage, collector stopped" "" 'collectgarbage("stop") local n, t = 0, {} while true do
  n = n + 1 t[n % 16] = n % 1e6 == 0 and { n } or n end'
reach "compiled tail recursion" "" 'local function f(n) return f(n + 1) end f(1)'
reach "mutual tail recursion" "" 'local g local function f(n) return g(n + 1) end g = function(n) return f(n) end f(1)'
reach "recursion that returns a call of C" "" 'local floor = math.floor
  local function f(n) if n < 2 then return floor(n) end return f(n-1) + f(n-2) end f(60)'
reach "iterator" "" 'local t = {1, 2, 3} local s = 0 while true do for k, v in pairs(t) do s = s + v end end'
reach "coroutines" "" 'while true do local co = coroutine.wrap(function() for i = 1, 100 do coroutine.yield(i) end end) for i = 1, 100 do co() end end'

# Compiled code that sleeps in a call by FFI answers when that returns.
begin "$bin/luajit" -e 'local C = require("ffi").C require("ffi").cdef("int usleep(unsigned);")
  local t = {} for i = 1, 200 do t[i] = i < 200 and 1000 or 600000000 end
  for i = 1, 200 do C.usleep(t[i]) end'
long_sleep() { [ "$(awk '/^voluntary_ctxt/ { print $2 }' "/proc/$target/status")" -ge 199 ] && sleeps_still $target; }
within 30 "the long sleep" long_sleep
record -p $target
within 30 "an explanation of a call by FFI" \
  logged 'no Lua VM has answered for .*: it sleeps in a C function that compiled code has called by FFI'
kill -INT $recorder
finish 124
kill $target
ended 143

# A program that sleeps nearly always, and in between interprets code that never polls.
cat >"$scratch/sleeper.lua" <<'END'
local ffi = require("ffi")
ffi.cdef("unsigned sleep(unsigned);")
local C, n = ffi.C, 0
while true do
  C.sleep(1)
  n = n + 1
end
END
begin "$bin/luajit" -joff "$scratch/sleeper.lua"
settles $target
record -p $target
within 20 "a sleeper" vms_recorded 1
kill -INT $recorder
finish 0
all_off $target || fail "the control words of a sleeper are not 0"
within 10 "the ring of a sleeper to be closed" no_ring $target
kill $target
ended 143

# A process that sleeps answers when it wakes up.
begin "$bin/luajit" -e 'require("ffi").cdef("unsigned sleep(unsigned);") require("ffi").C.sleep(600)'
settles $target
record -p $target
within 30 "an explanation of the sleep" logged 'no Lua VM has answered for .*: it sleeps'
kill -INT $recorder
finish 124
all_off $target || fail "the control words of a sleeping process are not 0"
kill $target
ended 143

# Killed before it woke up: the recorder must explain it.
begin "$bin/luajit" -e 'require("ffi").cdef("unsigned sleep(unsigned);") require("ffi").C.sleep(600)'
settles $target
record -p $target
within 10 "the recorder" logged "process $target .* is being recorded"
passes 10
kill -KILL $target
ended 137
finish 124
logged "process $target has ended without an event" || fail "an early end is not explained: $(cat "$scratch/record.err")"

# A program sleeps in C, wakes up, runs for a moment and exits without closing its Lua VM: its events
# are recorded. (The recorder must look within 0.2 s: on a busy machine one try may not be enough.)
cat >"$scratch/moment.lua" <<'END'
local ffi = require("ffi")
ffi.cdef("int open(const char *, int); long read(int, void *, size_t);")
local function leaf(x) return x + 1 end
local fd, byte = ffi.C.open(arg[1] .. "/wake", 2), ffi.new("char[1]") -- O_RDWR: waits for nobody
io.open(arg[1] .. "/ready", "w"):close()
ffi.C.read(fd, byte, 1)
for i = 1, 300 do leaf(i) end
os.exit(0)
END
mkfifo "$scratch/wake"
moment() {
  gate "$bin/luajit" "$scratch/moment.lua" "$scratch"
  ready
  settles $target
  record -p $target
  within 20 "the recorder" logged "process $target .* is being recorded"
  echo >"$scratch/wake"
  ended
  wait $recorder
}
for i in 1 2 3 4 5; do moment && break; done
[ "$(json "$scratch/trace.bin" | jq '[.functions[] | select(.name == "leaf") | .calls] | add')" -ge 100 ] ||
  fail "what ran for a moment is lost: $(cat "$scratch/record.err")"
