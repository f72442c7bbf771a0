#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Processes at an inconvenient moment: stopped, traced by another process, zombies, executing other
# programs all the time. The recorder's messages are true, it handles ^C, and it leaves the
# processes unchanged.
# Usage: moments.sh BUILD
source "$(dirname "$0")/../attach/lib.sh"
liar=$build/tests/hostile/hostile_target
spin='io.write("on\n") io.flush() while true do os.clock() end'

# stop WHAT: sends ^C to the recorder and waits for its end
stop() {
  kill -INT $recorder 2>/dev/null || true # it may have ended by itself: its status shows that
  gone() { ! kill -0 $recorder 2>/dev/null; }
  within 20 "the recorder to end after ^C ($1)" gone
}
state_is() { [ "$(awk '/^State/ { print $2 }' "/proc/$target/status")" = "$1" ]; }

# Stopped by a signal. The recorder detaches when the process continues.
: >"$scratch/target.out"
begin "$bin/luajit" -e "$spin"
within 10 "the program" grep -q on "$scratch/target.out"
kill -STOP $target
within 10 "the process to stop" state_is T
record -p $target
within 20 "what is wrong" logged 'no Lua VM has answered for .*: the process is stopped, by a signal or a debugger'
stop "a stopped process"
finish 124
state_is T || fail "the process is not stopped any more"
kill -CONT $target
detached $target "stopped by a signal"
kill -9 $target

# Held by a tracer.
: >"$scratch/target.out"
begin "$bin/luajit" -e "$spin"
within 10 "the program" grep -q on "$scratch/target.out"
"$liar" trace $target >"$scratch/tracer" 2>&1 &
tracer=$!
started+=($tracer)
within 10 "the tracer" grep -q ready "$scratch/tracer"
record -p $target
within 20 "what is wrong" logged 'no Lua VM has answered for .*: the process is stopped, by a signal or a debugger'
stop "a traced process"
finish 124
same "its tracer" "$(awk '/^TracerPid/ { print $2 }' "/proc/$target/status")" $tracer
kill -9 $tracer
detached $target "held by a tracer"
kill -9 $target

# A zombie: its parent does not ask.
bash -c 'sleep 0.5 & echo $! >"$1"; exec sleep 60' bash "$scratch/zombie" &
started+=($!)
is_zombie() { [ -s "$scratch/zombie" ] && target=$(cat "$scratch/zombie") && state_is Z; }
within 10 "a zombie" is_zombie
record -p "$target"
finish 120

# A process that cannot be stopped, so that its seccomp filter cannot be read: refused after a second, not after half a
# minute.
if [ "$(id -u)" = 0 ]; then
  : >"$scratch/target.out"
  begin "$liar" vfork
  within 10 "the child" state_is D
  record --via direct -p $target
  within 20 "the recorder to refuse" logged 'a thread waits for something in the kernel and cannot be stopped'
  finish 121
  kill -9 $target
fi

# A process that executes its own program again and again, each time with new memory.
cat >"$scratch/again.lua" <<'END'
local ffi = require("ffi")
ffi.cdef("int execv(const char *, const char *const *); unsigned sleep(unsigned);")
local program, script, left = arg[1], arg[0], tonumber(arg[2])
local words = ffi.new("const char *[5]", program, script, program, tostring(left - 1))
if left > 0 then ffi.C.execv(program, words) end
ffi.C.sleep(60)
END
begin "$bin/luajit" "$scratch/again.lua" "$bin/luajit" 3000
record -p $target
sleep 1
stop "a process that executes itself"
status=0
wait $recorder || status=$?
case $status in 0 | 120 | 124) ;; *) cat "$scratch/record.err" >&2 && fail "status $status" ;; esac
kill -9 $target 2>/dev/null || true
