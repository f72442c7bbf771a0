#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A recording without an end ends before the disk is full, and says so; -d or --max-size is an end. A
# recording that cannot begin leaves an older trace as it is.
source "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null || skip "a file system of its own needs root"
begin "$bin/luajit" -e 'local ffi = require("ffi") ffi.cdef("int usleep(unsigned);")
  while true do for i = 1, 100 do os.clock() end ffi.C.usleep(1000) end'
runs $target "$bin/luajit"

# record_on SIZE TAKEN OPTIONS...: on a disk of that size, a part of which is taken; prints what is
# left, in kB
record_on() {
  local size=$1 taken=$2
  shift 2
  unshare -m sh -c 'mkdir -p "$1" && mount -t tmpfs -o "size=$3" none "$1" && fallocate -l "$4" "$1/taken" || exit 77
    disk=$1 bin=$2; shift 4
    "$bin/luatrace-record" --times events --ring-size 256K -o "$disk/trace.bin" "$@"; status=$?
    "$bin/luatrace-analyze" --json "$disk/trace.bin" | jq ".trace.files[0].reason" >"$disk/../reason"
    df -k --output=avail "$disk" | tail -n 1; exit $status' sh "$scratch/disk" "$bin" "$size" "$taken" "$@" 2>"$scratch/record.err"
}
# ends_early SIZE TAKEN KEPT WHO: with a tenth left, KEPT kB; not much more is left either
ends_early() {
  left=$(record_on "$1" "$2" -p "$4") || fail "$1: status $?: $(cat "$scratch/record.err")"
  logged 'the disk is nearly full: the recording ends, the program continues' || fail "$1: no message: $(cat "$scratch/record.err")"
  ! logged 'No space left|cannot' || fail "$1: $(cat "$scratch/record.err")"
  same "messages" "$(grep -c 'nearly full' "$scratch/record.err")" 1
  same "reason (LTQ_DISK)" "$(cat "$scratch/reason")" 5
  [ "$left" -ge "$3" ] && [ "$left" -lt $(($3 + 1500)) ] || fail "$1: $left kB are left"
}
ends_early 32m 20M 3276 $target
# Rings are full, and the drainer has much to write, when the disk becomes scarce.
idle=$target
begin "$bin/luajit" -e 'local function f() end while true do f() f() f() f() end'
runs $target "$bin/luajit"
ends_early 60m 1M 6144 $target
ends_early 4m 4K 409 $target
kill $target
ended 143
target=$idle

# On a full disk an older trace stays as it is.
mkdir -p "$scratch/disk"
unshare -m bash -c 'mount -t tmpfs -o size=1m none "$1" && bin=$2 || exit 77
  "$bin/luatrace-record" -q -o "$1/trace.bin" -- "$bin/luajit" -e "os.clock()" && sha256sum "$1/trace.bin" >"$1/sum"
  dd if=/dev/zero of="$1/taken" bs=4k 2>/dev/null
  status=0
  "$bin/luatrace-record" -q -o "$1/trace.bin" -p "$3" -d 1 || status=$?
  [ $status = 125 ] && sha256sum --quiet -c "$1/sum" && [ "$(ls -A "$1" | xargs)" = "sum taken trace.bin" ]
' sh "$scratch/disk" "$bin" $target 2>"$scratch/record.err" ||
  fail "a full disk with an older trace: $(cat "$scratch/record.err")"
within 10 "the process to be left alone" all_off $target

left=$(record_on 32m 20M -p $target --max-size 10M) || fail "status $?: $(cat "$scratch/record.err")"
logged 'max-size .* was reached' && ! logged 'nearly full' || fail "--max-size: $(cat "$scratch/record.err")"
same "reason (LTQ_MAX_SIZE)" "$(cat "$scratch/reason")" 2
