#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A server: a master that does no Lua work, and workers that do. Without --children a message names
# the workers and the option; with it the master is no reason for a warning, nor for a status.
#
#   master.sh BUILD VIA
source "$(dirname "$0")/lib.sh"
via=$2
need_way "$via"

cat >"$scratch/master.lua" <<'END_LUA'
local scratch = arg[1]
local ffi = require("ffi")
ffi.cdef("int fork(void); int getpid(void); int usleep(unsigned); unsigned sleep(unsigned); int wait(int *);")
local function leaf() end
if ffi.C.fork() == 0 then
  local f = io.open(scratch .. "/worker", "w")
  f:write(ffi.C.getpid(), "\n")
  f:close()
  while io.open(scratch .. "/worker") do
    leaf()
    ffi.C.usleep(1000)
  end
  os.exit(0)
end
ffi.C.wait(nil)
END_LUA

begin "$bin/luajit" "$scratch/master.lua" "$scratch"
within 20 "the worker" test -s "$scratch/worker"
worker=$(cat "$scratch/worker")
started+=("$worker")
settles $target

# Alone the master has no events, and the message says what to add; -q leaves only the reasons.
hint="process $target .luajit.: a descendant has a LuaJIT with tracepoints and would be recorded with --children: $worker\$"
record --via "$via" -p $target
within 20 "the name of the worker" logged "$hint"
within 30 "an explanation of the sleep" logged 'no Lua VM has answered'
kill -INT $recorder
finish 124
status=0
"$bin/luatrace-record" -q --via "$via" -o "$scratch/trace.bin" -p $target -d 2.5 2>"$scratch/record.err" || status=$?
same "status of -q" $status 124
! logged "^luatrace-record: next|answered|sleeps" || fail "-q is not quiet: $(cat "$scratch/record.err")"
same "the name of the worker with -q" "$(grep -cE "$hint" "$scratch/record.err")" 1
logged 'no event came' || fail "-q gives no reason: $(cat "$scratch/record.err")"

# luatrace top says so while it runs, and at its end.
status=0
"$bin/luatrace-top" -p $target -n 500ms --count 6 --via "$via" >"$scratch/tables" 2>"$scratch/record.err" || status=$?
same "status of luatrace top" $status 124
logged "$hint" && ! logged "sleeps" || fail "luatrace top does not name the worker: $(cat "$scratch/record.err")"
mkfifo "$scratch/keys" # none is pressed
exec 3<>"$scratch/keys"
COLUMNS=200 TERM=xterm script -qec "stty cols 200 rows 24; $bin/luatrace-top -p $target -n 500ms --count 6 --via $via" /dev/null <&3 >"$scratch/screen" || true
tr -d '\r' <"$scratch/screen" | sed 's/\x1b\[[0-9;?]*[A-Za-z]/\n/g' >"$scratch/screens"
awk '/^no event came/ { nothing = 1 } nothing && /recorded with --children/ { found = 1 } END { exit !found }' "$scratch/screens" ||
  fail "the screen does not name the worker: $(cat "$scratch/screens")"

# A process without LuaJIT.
begin sh -c '"$@"; exit 0' sh "$bin/luajit" -e 'require("ffi").cdef("unsigned sleep(unsigned);") require("ffi").C.sleep(600)'
shell=$target
has_child() { child=$(cat "/proc/$shell/task/$shell/children") && [ -n "$child" ] && [ "/proc/${child% }/exe" -ef "$bin/luajit" ]; }
within 20 "the shell's child" has_child
started+=("${child% }")
settles "${child% }"
status=0
"$bin/luatrace-record" -q --via "$via" -o "$scratch/none.bin" -p $shell 2>"$scratch/record.err" || status=$?
same "status of a shell" $status 122
logged "process $shell .*: a descendant has a LuaJIT .* --children: ${child% }\$" || fail "nothing about the child: $(cat "$scratch/record.err")"
kill "${child% }"

# With --children: no warning once a worker has events (-v would show more), and status 0.
master=$(awk '{ print $4 }' "/proc/$worker/stat")
children() { # OPTIONS...
  : >"$scratch/record.err"
  "$bin/luatrace-record" --via "$via" -o "$scratch/trace.bin" -p "$master" --children "$@" 2>"$scratch/record.err" &
  recorder=$!
  started+=($recorder)
}
children
within 60 "the first event" logged "process $worker: first event"
sleep 2.5 # the message about a process that does not answer comes after two seconds
kill -INT $recorder
finish 0
sed '0,/first event/d' "$scratch/record.err" | grep -E 'no Lua VM|no event came|not recorded' && fail "a warning about the master"
[ "$(json "$scratch/trace.bin" | jq '.functions[] | select(.name == "leaf") | .calls > 0')" = true ] || fail "the worker was not recorded"

# -q prints nothing then.
has_events() { [ "$(stat -c %s "$scratch/trace.bin" 2>/dev/null || echo 0)" -gt 8192 ]; }
rm "$scratch/trace.bin"
children -q
within 60 "events" has_events
kill -INT $recorder
finish 0
same "-q --children" "$(cat "$scratch/record.err")" ""
rm "$scratch/worker"
