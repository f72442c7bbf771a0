# SPDX-License-Identifier: MIT
# For the tests of luatrace-record --sample. Source it after ../lib.sh.
#
#   needs_sampling RECORD [OPTION]   skips the test where samples cannot be taken
#   samples FILE            prints them (samples.py)
sample_here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

needs_sampling() {
  local status=0
  "$1" --sample 99 "${@:2}" -q -o "$scratch/probe.bin" -- true 2>"$scratch/probe.err" || status=$?
  [ $status -eq 0 ] || skip "no sampling here: $(head -n 1 "$scratch/probe.err")"
}

samples() { python3 "$sample_here/samples.py" "$1"; }
