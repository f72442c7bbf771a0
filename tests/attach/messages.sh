#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What the recorder says at the end about processes of which nothing came: nothing false about one
# that was forked, that has executed another program, or that ended together with the recording.
source "$(dirname "$0")/lib.sh"
attached() { [ "$(grep -c 'is being recorded' "$scratch/record.err")" -ge "$1" ]; }
sleeps='require("ffi").cdef("unsigned sleep(unsigned);") require("ffi").C.sleep(60)'

# A forked child that has run no Lua: it has its parent's answer, so "no VM has answered" is false.
cat >"$scratch/fork.lua" <<'END'
local scratch = arg[1]
local ffi = require("ffi")
ffi.cdef("int fork_and_sleep(int *); int usleep(unsigned);")
local function exists(what)
  local f = io.open(scratch .. "/" .. what)
  if f then f:close() end
  return f
end
local C = ffi.load(arg[2])
io.open(scratch .. "/ready", "w"):close()
while not exists("go") do ffi.C.usleep(10000) end
local child = ffi.new("int[1]")
C.fork_and_sleep(child)
local f = io.open(scratch .. "/child", "w")
f:write(child[0], "\n")
f:close()
while not exists("end") do ffi.C.usleep(10000) end
END
"${CC:-cc}" -shared -fPIC -o "$scratch/fork.so" -x c - <<'END'
#include <unistd.h>
int fork_and_sleep(int *child)
{
  *child = fork();
  if (*child == 0) {
    for (;;) pause();
  }
  return *child;
}
END
gate "$bin/luajit" "$scratch/fork.lua" "$scratch" "$scratch/fork.so"
ready
record -p $target --children
recording
open_gate
within 20 "the child" test -s "$scratch/child"
child=$(cat "$scratch/child")
started+=("$child")
within 20 "the child to be attached" attached 2
sleep 0.5 # the recorder looks at it several times
kill -INT $recorder
finish 0
logged "process $child: no event came: it has run no Lua since it was forked" || fail "nothing about the child: $(cat "$scratch/record.err")"
! logged 'no Lua VM has answered|it has no Lua VM|is damaged' || fail "false: $(cat "$scratch/record.err")"
kill -KILL "$child"
touch "$scratch/end"
ended 0

# A process with streams that has executed another program, which is killed while it sleeps: events came from it.
cat >"$scratch/exec.lua" <<'END'
local ffi = require("ffi")
ffi.cdef("int execl(const char *, const char *, ...); int usleep(unsigned);")
local c = function(s) return ffi.cast("const char *", s) end
io.open(arg[1] .. "/ready", "w"):close()
while true do
  local f = io.open(arg[1] .. "/go")
  if f then break end
  ffi.C.usleep(1000)
end
ffi.C.execl(c(arg[-1]), c(arg[-1]), c("-e"), c(arg[2]), ffi.cast("char *", nil))
END
gate "$bin/luajit" "$scratch/exec.lua" "$scratch" "$sleeps"
ready
record -p $target
recording
open_gate
within 20 "the second program to be attached" attached 2
sleep 0.5 # the recorder finds its Lua VM, which sleeps
kill -KILL $target
ended 137
finish 0
logged "process $target .* has executed another program" || fail "no message about the exec: $(cat "$scratch/record.err")"
! logged 'ended without an event|it has no Lua VM|is damaged' || fail "false: $(cat "$scratch/record.err")"

# It ends at the moment at which the recording is ended: its list of Lua VMs is gone, not damaged.
begin "$bin/luajit" -e "$sleeps"
within 10 "the program to sleep" grep -q ' S ' "/proc/$target/stat"
record -p $target
within 20 "the recorder" attached 1
sleep 0.5 # the recorder finds its Lua VM
kill -STOP $recorder
within 20 "the recorder to stop" grep -q ' T ' "/proc/$recorder/stat"
kill -KILL $target
ended 137
kill -INT $recorder
kill -CONT $recorder
finish 124
logged "process $target has ended without an event" || fail "no message about its end: $(cat "$scratch/record.err")"
! logged 'is damaged|it has no Lua VM' || fail "false: $(cat "$scratch/record.err")"
