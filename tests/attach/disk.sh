#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A disk that is full: said once, and nothing else that is not true.
source "$(dirname "$0")/lib.sh"
ways="direct"
[ "$(id -u)" != 0 ] || "$bin/luatrace-record" --via bpf -o "$scratch/x.bin" -p $$ 2>&1 | grep -q 'built without it' || ways="direct bpf"
begin "$bin/luajit" -e 'while true do os.clock() end'
within 10 "the program" test "$bin/luajit" -ef "/proc/$target/exe"

# full WHAT OPTIONS...: from the first byte on (/dev/full), or later (a limit of the file's size)
full() {
  local what=$1 status=0
  shift
  "$@" 2>"$scratch/record.err" || status=$?
  same "status ($what)" $status 125
  same "lines about the disk ($what)" "$(grep -cE 'No space left on device|File too large' "$scratch/record.err")" 1
  said '(No space left on device|File too large); the recording ends there, the program goes on$' ||
    fail "$what: what happens then is not said: $(cat "$scratch/record.err")"
  ! grep -qE 'no event came|has answered|is not recorded|the command' "$scratch/record.err" ||
    fail "$what: more is said than is true: $(cat "$scratch/record.err")"
}
for way in $ways; do
  full "$way, /dev/full" timeout 60 "$bin/luatrace-record" -o /dev/full --via $way -p $target -d 5
  full "$way, a limit" timeout 60 sh -c 'ulimit -f 400; exec "$@"' sh "$bin/luatrace-record" -o "$scratch/full.bin" --via $way -p $target -d 20
  within 10 "the process to be left alone" all_off $target
done
full "a command, /dev/full" timeout 60 "$bin/luatrace-record" -o /dev/full -- "$bin/luajit" -e 'for i = 1, 1e5 do os.clock() end'
kill $target
ended 143
