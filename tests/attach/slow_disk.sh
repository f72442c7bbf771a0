#!/bin/bash
# SPDX-License-Identifier: MIT
#
# slow_disk.sh BUILD WAY: a disk that does not answer (a full pipe that nobody reads). The recorder
# detaches at the end of -d, and at the first signal, while it is stuck; the second signal ends the
# recorder; and when the disk answers again the trace is complete.
source "$(dirname "$0")/lib.sh"
way=$2
need_way "$way"
via=$way
# Fewer events than the recorder can hold while the disk does not answer.
begin "$bin/luajit" -e 'local ffi = require("ffi") ffi.cdef("int usleep(unsigned)")
  while true do for _ = 1, 300 do os.clock() end ffi.C.usleep(500) end'
within 10 "the program" test "$bin/luajit" -ef "/proc/$target/exe"

stuck() {
  rm -f "$scratch/trace.bin"
  mkfifo "$scratch/trace.bin"
  exec 8<>"$scratch/trace.bin"
  dd if=/dev/zero of="$scratch/trace.bin" bs=4096 oflag=nonblock 2>"$scratch/dd.err" || true
  filled=$(awk '/bytes/ { print $1 }' "$scratch/dd.err")
  [ "$filled" -gt 0 ] || fail "the pipe cannot be filled: $(cat "$scratch/dd.err")"
}
runs_still() {
  local state
  state=$(awk '{ print $3 }' "/proc/$recorder/stat" 2>/dev/null) && [ "$state" != Z ]
}
detached_while_stuck() {
  within 20 "the process to be detached ($1)" untraced $target
  runs_still || fail "$1: the recorder did not wait for the disk: $(cat "$scratch/record.err")"
}
interrupted() {
  local i
  for ((i = 0; i < 100; i++)); do
    runs_still || break
    kill -INT "$recorder" 2>/dev/null || true  # it may have ended this moment
    sleep 0.1
  done
  finish 130
}

for options in "" "--compress"; do
  stuck
  record --via "$way" -p "$target" -d 0.5 $options
  detached_while_stuck "-d $options"
  interrupted
done

stuck
record --via "$way" -p "$target"
recording
kill -INT "$recorder"
detached_while_stuck "a signal"
interrupted

# It answers again: everything that was held is there, and the rest is a loss.
stuck
record --via "$way" -p "$target" -d 0.5
detached_while_stuck "for a while"
cat <&8 >"$scratch/all" &
reader=$!
started+=($reader)
finish 0
within 20 "the last of it" sh -c '[ -z "$(ps -o stat= -p '$reader' | grep R)" ]'
kill $reader
tail -c +$((filled + 1)) "$scratch/all" >"$scratch/whole.bin"
[ "$(json "$scratch/whole.bin" | jq '.trust.cut')" = 0 ] || fail "the trace is cut"
[ "$(json "$scratch/whole.bin" | jq '[.functions[].calls] | add')" -gt 1000 ] || fail "the trace is empty"
no_anomalies "$scratch/whole.bin"
kill $target
ended 143
