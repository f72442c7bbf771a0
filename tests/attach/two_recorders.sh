#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Two recorders at once: the second is refused and nothing is damaged. A recorder that is killed:
# the process goes back to full speed, nothing stays switched on, and the next recorder can attach.
source "$(dirname "$0")/lib.sh"
gate "$bin/luajit" "$here/gate.lua" "$scratch" "$here/work.lua" spin
ready
record -p $target
recording
for i in 1 2 3; do
  status=0
  "$bin/luatrace-record" -o "$scratch/second.bin" -p $target 2>"$scratch/second.err" || status=$?
  same "exit statuses" $status 123
  grep -q "is being recorded by another luatrace-record (process $recorder there)" "$scratch/second.err" || fail "$(cat "$scratch/second.err")"
  [ ! -e "$scratch/second.bin" ] || fail "the refused recorder left a file"
done
open_gate
within 20 "the work" test -e "$scratch/done"
in_the_file() { calls "$scratch/trace.bin" 2>/dev/null | grep -x '21891 line 7' >/dev/null; }
within 10 "the events to be in the file" in_the_file

# The recorder alone is killed: the guardian switches off.
kill -KILL $recorder
finish 137
within 10 "the guardian" all_off $target
detached $target "after kill -9"
in_the_file || fail "what had been recorded is lost"
! ls -A "$scratch" | grep '^\.' || fail "a temporary file is left"

# The recorder and its guardian are killed: the VM notices by itself, after 5 seconds.
record -p $target
recording
guardian=$(cat "/proc/$recorder/task/$recorder/children")
kill -KILL $guardian $recorder
finish 137
within 20 "the VM to notice" all_off $target
detached $target "after kill -9 of both"

# Two begin at the same moment: exactly one records.
for i in 1 2 3 4 5; do
  for n in 1 2; do
    "$bin/luatrace-record" -v -o "$scratch/race$n.bin" -p $target 2>"$scratch/race$n.err" &
    started+=($!)
    pids[$n]=$!
  done
  status=0
  wait -n -p refused ${pids[1]} ${pids[2]} || status=$?
  same "the status of the one that comes second" $status 123
  other=1
  [ "$refused" != ${pids[1]} ] || other=2
  within 20 "the recording" grep -q 'first event' "$scratch/race$other.err"
  kill -INT ${pids[$other]}
  status=0
  wait ${pids[$other]} || status=$?
  same "the status of the one that records" $status 0
  detached $target "after a race"
done

# A command's process is its recorder's.
"$bin/luatrace-record" -q -o "$scratch/command.bin" -- "$bin/luajit" -e 'while true do os.clock() end' &
recorder=$!
started+=($recorder)
child_of() { # the child of $1 that runs luajit: a recorder's helpers are its children, too
  local c
  for c in $(cat "/proc/$1/task/$1/children"); do
    [ "$(readlink "/proc/$c/exe")" != "$(readlink -f "$bin/luajit")" ] || echo $c
  done
}
command_is_there() { child=$(child_of $recorder) && [ "$("$here/words" $child 2>/dev/null | awk '{ print $2 }')" = 1 ]; }
within 10 "the command" command_is_there
status=0
"$bin/luatrace-record" -o "$scratch/second.bin" -p $child 2>"$scratch/second.err" || status=$?
same "exit statuses" $status 123
# Its recorder is killed: then the next one is accepted, not only after 5 seconds.
socket=$(tr '\0' '\n' <"/proc/$child/environ" | sed -n 's/^LUATRACE_SOCKET=//p')
started+=($child)
kill -KILL $recorder
wait $recorder || true
within 20 "the socket to be removed" test ! -e "$socket"
"$bin/luatrace-record" -v -o "$scratch/second.bin" -p $child 2>"$scratch/second.err" &
recorder=$!
started+=($recorder)
next_records() { ! kill -0 $recorder 2>/dev/null || grep -q 'first event' "$scratch/second.err"; }
within 20 "the next recorder" next_records
kill -INT $recorder 2>/dev/null || true
wait $recorder || fail "a recorder that is dead keeps its claim: $(cat "$scratch/second.err")"
[ "$(json "$scratch/second.bin" | jq .trace.events)" -gt 0 ] || fail "the next recorder got nothing"
detached $child "after the recorder of a command"
kill $child

touch "$scratch/end"
ended
