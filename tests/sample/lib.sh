# SPDX-License-Identifier: MIT
# For the tests of luatrace-record --sample. Source it after ../lib.sh.
#
#   needs_sampling RECORD [OPTION]   skips the test where samples cannot be taken
#   samples FILE            prints them (samples.py)
#   host NAME               compiles NAME.c with the LuaJIT of $build to $scratch/NAME
sample_here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

needs_sampling() {
  local status=0
  "$1" --sample 99 "${@:2}" -q -o "$scratch/probe.bin" -- true 2>"$scratch/probe.err" || status=$?
  [ $status -eq 0 ] || skip "no sampling here: $(head -n 1 "$scratch/probe.err")"
}

samples() { python3 "$sample_here/samples.py" "$1"; }

host() {
  "$cc" -std=gnu11 -O1 -I"$build/include/luajit-2.1" "$sample_here/$1.c" -o "$scratch/$1" -L"$build" -lluajit-5.1 -lpthread
}
