#!/bin/bash
# SPDX-License-Identifier: MIT
#
# How a recording can end, and what must not be lost then: the process exits, is killed, executes
# another program, forks; the disk is full; the ring is full; a size or time limit; ^C.
source "$(dirname "$0")/lib.sh"
script=("$here/gate.lua" "$scratch" "$here/work.lua" spin)
fib_calls() { calls "$1" | awk '$3 == 7 { n += $1 } END { print n + 0 }'; }
reason() { "$bin/luatrace-analyze" --dump "$scratch/trace.bin" | tail -n 1 | sed -n 's/^end .*reason=\([a-z0-9-]*\).*/\1/p'; }

# Exit without closing the Lua VM: everything up to there is recorded.
cat >"$scratch/exit.lua" <<'END'
local scratch, file, how = arg[1], arg[2], arg[3]
local ffi = require("ffi")
ffi.cdef("void _exit(int); int kill(int, int); int getpid(void); int execl(const char *, const char *, ...);" ..
         "int fork(void); int wait(int *); int usleep(unsigned);")
local work = dofile(file)
local function exists(what)
  local f = io.open(scratch .. "/" .. what)
  if f then f:close() end
  return f
end
local go = how == "again" and "more" or "go"
io.open(scratch .. "/ready", "w"):close()
for turn = 1, 3000000 do
  if exists(go) or turn % 1000 == 0 and not exists(".") then break end
  ffi.C.usleep(50)  -- a busy machine must not fill the ring
end
assert(exists(go), "waited too long for " .. go)
work()
if how == "exit" then os.exit(7) end
if how == "_exit" then ffi.C._exit(7) end
if how == "kill" then ffi.C.kill(ffi.C.getpid(), 9) end
if how == "exec" then
  local c = function(s) return ffi.cast("const char *", s) end
  ffi.C.execl(c(arg[-1]), c(arg[-1]), c(arg[0]), c(scratch), c(file), c("again"), ffi.cast("char *", nil))
end
if how == "again" then os.exit(7) end
if how == "fork" then
  local pid = ffi.C.fork()
  work()
  if pid == 0 then ffi.C._exit(0) end
  ffi.C.wait(nil)
  os.exit(7)
end
END
for how in exit _exit kill; do
  gate "$bin/luajit" "$scratch/exit.lua" "$scratch" "$here/work.lua" $how
  ready
  record -p $target
  recording
  kill -USR1 "$recorder" # these were meant for another process
  kill -USR2 "$recorder"
  open_gate
  if [ $how = kill ]; then ended 137; else ended 7; fi
  finish 0
  same "calls of fib ($how)" "$(fib_calls "$scratch/trace.bin")" 21891
  no_anomalies "$scratch/trace.bin"
done

# Exec: the new program is another process in the file; it is attached to as soon as that is seen. It
# works only then, so the calls of both are all there.
gate "$bin/luajit" "$scratch/exit.lua" "$scratch" "$here/work.lua" exec
ready
record -p $target
recording
rm "$scratch/ready"
open_gate
within 20 "the exec" test -e "$scratch/ready"
recording 2
touch "$scratch/more"
ended 7
finish 0
same "calls of fib (exec)" "$(fib_calls "$scratch/trace.bin")" 43782
same "processes (exec)" "$(json "$scratch/trace.bin" | jq '.trace.files[0].processes | length')" 2

# Fork: without --children a child switches itself off and continues; with it, the child is recorded.
for children in "" --children; do
  gate "$bin/luajit" "$scratch/exit.lua" "$scratch" "$here/work.lua" fork
  ready
  record -p $target $children
  recording
  open_gate
  ended 7
  finish 0
  if [ -z "$children" ]; then want=43782 processes=1; else want=65673 processes=2; fi
  same "calls of fib (fork $children)" "$(fib_calls "$scratch/trace.bin")" $want
  same "processes (fork $children)" "$(json "$scratch/trace.bin" | jq '.trace.files[0].processes | length')" $processes
  no_anomalies "$scratch/trace.bin"
done

# ^C, time, size: the process goes on as before.
gate "$bin/luajit" "${script[@]}"
ready
record -p $target
recording
kill -INT $recorder
finish 0
detached $target "after ^C"
record -p $target -d 3  # long enough for a busy machine
finish 0
record -p $target --max-size 300K
finish 0
logged 'max-size .* was reached' || fail "the size is not named"
[ "$(stat -c %s "$scratch/trace.bin")" -le 307200 ] || fail "larger than --max-size"
detached $target "after --max-size"

# A full disk: the data already written stays readable, the message names the file, the program
# continues.
status=0
(ulimit -f 400; exec "$bin/luatrace-record" -o "$scratch/full.bin" -p $target) 2>"$scratch/record.err" || status=$?
same "exit statuses (full disk)" $status 125
logged 'full.bin: .*(File too large|No space)' || fail "the full disk is not named: $(cat "$scratch/record.err")"
detached $target "after a full disk"
[ "$(json "$scratch/full.bin" | jq '.trace.events')" -gt 10000 ] || fail "what had been written is lost"

# The ring overflows while the recorder is stopped: the loss is counted, the rest is correct. Segments
# would fit.
record -p $target --ring-size 256K --times events
recording
stop_recorder
open_gate
within 20 "the work" test -e "$scratch/done"
kill -CONT $recorder
touch "$scratch/end"
ended
finish 0
logged 'LOST: [0-9,]+ events? in [0-9]+ gap' || fail "no message about the loss: $(cat "$scratch/record.err")"
json "$scratch/trace.bin" | jq -e '.trust | .lost > 0 and .unbalanced + .bad_records + .bad_blocks == 0' >/dev/null ||
  fail "the loss is not counted, or more is wrong"
# With --block nothing is lost.
gate "$bin/luajit" "${script[@]}"
ready
record -p $target --ring-size 256K --block --times events
recording
stop_recorder
open_gate
sleeps $target 20  # once before the work, then while it waits for space: not for 5 s, or it gives up
[ ! -e "$scratch/done" ] || fail "the program did not wait for space in the ring"
kill -CONT $recorder
touch "$scratch/end"
ended
finish 0
same "calls of fib (--block)" "$(fib_calls "$scratch/trace.bin")" 21891
no_anomalies "$scratch/trace.bin"

# Patterns and classes are passed on.
gate "$bin/luajit" "${script[@]}"
ready
record -p $target --include '*/work.lua' --c-functions none
recording
open_gate
touch "$scratch/end"
ended
finish 0
same "chunks" "$(json "$scratch/trace.bin" | jq -r '[.functions[] | select(.calls > 0 and (.name | test("^.(GC|JIT|luatrace).$") | not)) | .chunk | sub(".*/"; "")] | unique | join(" ")')" work.lua
same "calls of fib (--include)" "$(fib_calls "$scratch/trace.bin")" 21891
# Of a process that was attached no status is known.
same "exit status" "$(json "$scratch/trace.bin" | jq '.trace.files[0].exit_status')" -1
! "$bin/luatrace-analyze" "$scratch/trace.bin" | grep 'exit status' || fail "a status of an attached process"
