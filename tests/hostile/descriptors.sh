#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The program's file descriptors: a ring never takes the number of a closed standard stream, is
# closed as soon as the recorder has it, never costs the program a file of its own, and is not made
# where few numbers are left; the recorder says what it does not record for that reason.
source "$(dirname "$0")/../attach/lib.sh"
programs=$(cd "$(dirname "$0")/programs" && pwd)
descriptor_of() { ls -l "/proc/$1/fd" | grep luatrace-ring; }
no_descriptor() { ! descriptor_of "$1" >"$scratch/fds"; }

# The program writes to standard streams that are closed.
streams() {
  rm -f "$scratch/end" "$scratch/finished" "$scratch/ready"
  begin /bin/bash -c "exec \"\$@\" $1" sh "$bin/luajit" "$programs/writes.lua" "$scratch"
  within 20 "the program" test -e "$scratch/ready"
}
for closed in '>&-' '<&- >&- 2>&-'; do
  streams "$closed"
  record -p $target
  recording
  within 20 "the descriptor to be closed ($closed)" no_descriptor $target
  grep -q luatrace-ring "/proc/$target/maps" || fail "the ring is gone ($closed)"
  kill -INT $recorder
  finish 0
  detached $target "streams closed"
  touch "$scratch/end"
  ended
  [ -e "$scratch/finished" ] || fail "the program did not finish ($closed)"
  no_anomalies "$scratch/trace.bin"
done
touch "$scratch/end"
"$bin/luatrace-record" -q -o "$scratch/trace.bin" -- "$bin/luajit" "$programs/writes.lua" "$scratch" >&- || fail "run with standard output closed: $?"
no_anomalies "$scratch/trace.bin"

# The program closes everything that it knows nothing of, and opens files of its own: none of them
# is closed when the recording ends.
gate "$bin/luajit" "$programs/closes.lua" "$scratch"
ready
record -p $target
recording
open_gate
within 20 "the files" test -e "$scratch/done"
kill -INT $recorder
finish 0
within 10 "the ring to be given back" no_ring $target
touch "$scratch/end"
ended
same "files that can still be written" "$(cat "$scratch/target.out")" "10 of 10"

# 300 VMs under a limit of 128 descriptors. None of them fails to open a file.
gate /bin/bash -c 'ulimit -n 128; exec "$@"' sh "$bin/luajit" "$programs/files.lua" "$scratch" 300
ready
record -p $target
recording
open_gate
within 60 "the Lua VMs" test -e "$scratch/done"
kill -INT $recorder
finish 0
touch "$scratch/end"
ended
same "Lua VMs that could open a file" "$(cat "$scratch/target.out")" "300 of 300"
streams=$(json "$scratch/trace.bin" | jq '.trace.files[0].streams | length')
unrecorded=$(awk -F: '/Lua VMs? (is|are) not recorded: / { n += $3 } END { print n + 0 }' "$scratch/record.err")
same "VMs recorded, or reported as not recorded" $((streams + unrecorded)) 301

# No descriptor to spare: no ring, and the recorder says so.
"$bin/luatrace-record" -o "$scratch/trace.bin" -- /bin/bash -c 'ulimit -n 6; exec "$@"' sh \
  "$bin/luajit" "$programs/states.lua" 2 >"$scratch/few.out" 2>"$scratch/record.err" || fail "few descriptors: $?"
same "what the Lua VMs computed" "$(tr '\n\t' '  ' <"$scratch/few.out")" "0 100 0 100 "
logged 'too few file descriptors' || fail "no message about the missing ring: $(cat "$scratch/record.err")"
