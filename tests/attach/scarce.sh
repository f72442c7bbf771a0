#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A recording without an end ends before the disk is full, and says so; -d or --max-size is an end.
source "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null || skip "a file system of its own needs root"
begin "$bin/luajit" -e 'local ffi = require("ffi") ffi.cdef("int usleep(unsigned);")
  while true do for i = 1, 100 do os.clock() end ffi.C.usleep(1000) end'
runs $target "$bin/luajit"

# record_on DISK OPTIONS...: on a disk of 32 MB, 20 MB of which are taken; prints what is left, in kB
record_on() {
  unshare -m sh -c 'mkdir -p "$1" && mount -t tmpfs -o size=32m none "$1" && fallocate -l 20M "$1/taken" || exit 77
    disk=$1 bin=$2; shift 2
    "$bin/luatrace-record" --ring-size 256K -o "$disk/trace.bin" "$@"; status=$?
    "$bin/luatrace-analyze" --json "$disk/trace.bin" | jq ".trace.files[0].reason" >"$disk/../reason"
    df -k --output=avail "$disk" | tail -n 1; exit $status' sh "$scratch/disk" "$bin" "$@" 2>"$scratch/record.err"
}
left=$(record_on -p $target) || fail "status $?: $(cat "$scratch/record.err")"
logged 'the disk is nearly full: the recording ends, the program continues' || fail "no message: $(cat "$scratch/record.err")"
same "reason (LTQ_DISK)" "$(cat "$scratch/reason")" 5
[ "$left" -gt 0 ] && [ "$left" -lt 3277 ] || fail "$left kB are left"
within 10 "the process to be left alone" all_off $target

left=$(record_on -p $target --max-size 10M) || fail "status $?: $(cat "$scratch/record.err")"
logged 'max-size .* was reached' && ! logged 'nearly full' || fail "--max-size: $(cat "$scratch/record.err")"
same "reason (LTQ_MAX_SIZE)" "$(cat "$scratch/reason")" 2
