#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A full disk: reported once, and nothing false is reported.
source "$(dirname "$0")/lib.sh"
ways="direct"
! has_bpf || ways="direct bpf"
begin "$bin/luajit" -e 'while true do os.clock() end'
within 10 "the program" test "$bin/luajit" -ef "/proc/$target/exe"

# full WHAT OPTIONS...: from the first byte on (/dev/full), or later (a limit of the file's size)
full() {
  local what=$1 status=0
  shift
  "$@" 2>"$scratch/record.err" || status=$?
  same "status ($what)" $status 125
  same "lines about the disk ($what)" "$(grep -cE 'No space left on device|File too large' "$scratch/record.err")" 1
  logged '(No space left on device|File too large); the recording ends there, the program continues$' ||
    fail "$what: no message about what happens then: $(cat "$scratch/record.err")"
  ! grep -qE 'no event came|has answered|is not recorded|the command' "$scratch/record.err" ||
    fail "$what: a false message: $(cat "$scratch/record.err")"
}
for way in $ways; do
  full "$way, /dev/full" timeout 60 "$bin/luatrace-record" -o /dev/full --via $way -p $target -d 5
  full "$way, a limit" timeout 60 sh -c 'ulimit -f 400; exec "$@"' sh "$bin/luatrace-record" -o "$scratch/full.bin" --via $way -p $target -d 20
  within 10 "the process to be left alone" all_off $target
done
full "a command, /dev/full" timeout 60 "$bin/luatrace-record" -o /dev/full -- "$bin/luajit" -e 'for i = 1, 1e5 do os.clock() end'
# With a file per process: the recorder detaches from the one whose file is full, and the other
# continues.
busy=$target
begin "$bin/luajit" -e 'local ffi = require("ffi") ffi.cdef("int usleep(unsigned)") while true do ffi.C.usleep(50000) os.clock() end'
within 10 "the program" test "$bin/luajit" -ef "/proc/$target/exe"
for way in $ways; do
  : >"$scratch/record.err"
  "$bin/luatrace-record" -v -o "$scratch/$way.%p.bin" --via $way -p $busy -p $target --max-size 1M 2>"$scratch/record.err" &
  recorder=$!
  started+=($recorder)
  within 20 "the file of $busy to be full ($way)" logged 'max-size 1,048,576 was reached'
  within 20 "$busy to be detached ($way)" untraced $busy
  # It sleeps most of the time, and may answer late; a file without a stream would be removed.
  within 20 "the first event of $target ($way)" logged "process $target: first event"
  ! untraced $target || fail "$way: the other process is not recorded any more"
  kill -INT $recorder
  finish 0
  [ "$(stat -c %s "$scratch/$way.$busy.bin")" -le 1048576 ] || fail "$way: the file is too large"
  no_anomalies "$scratch/$way.$busy.bin"
  no_anomalies "$scratch/$way.$target.bin"
done
# A file that is no trace is kept, however often it is tried: no other name is taken instead.
echo kept >"$scratch/kept.$target.bin"
status=0
"$bin/luatrace-record" -v -o "$scratch/kept.%p.bin" -p $target -p $busy -d 2 2>"$scratch/record.err" || status=$?
same "exit statuses (a file that is no trace)" $status 125
logged "process $target.* is not recorded: .*kept.$target.bin: .*is not a trace" || fail "no message about the file: $(cat "$scratch/record.err")"
same "the file that is no trace" "$(cat "$scratch/kept.$target.bin")" kept
[ ! -e "$scratch/kept.$target.bin.2" ] || fail "another file was written instead"
kill $target
ended 143
# Of two processes that have no event the file that was there before stays, the other one is removed.
in_pause() { test "$bin/luajit" -ef "/proc/$target/exe" && [ "$(awk '{ print $3 }' "/proc/$target/stat")" = S ]; }
for i in 1 2; do
  begin "$bin/luajit" -e 'local ffi = require("ffi") ffi.cdef("int pause()") ffi.C.pause()'
  within 10 "the program" in_pause
  idle[i]=$target
done
: >"$scratch/idle.${idle[1]}.bin"
"$bin/luatrace-record" -q -o "$scratch/idle.%p.bin" -p $busy -p "${idle[1]}" -p "${idle[2]}" -d 1 2>"$scratch/record.err" || true
[ -s "$scratch/idle.$busy.bin" ] || fail "the busy process was not recorded: $(cat "$scratch/record.err")"
[ -e "$scratch/idle.${idle[1]}.bin" ] || fail "a file that had been there was removed"
[ ! -e "$scratch/idle.${idle[2]}.bin" ] || fail "a file for nothing is left"
for i in 1 2; do
  target=${idle[i]}
  kill $target
  ended 143
done
target=$busy
kill $target
ended 143
