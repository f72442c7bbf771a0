#!/bin/bash
# SPDX-License-Identifier: MIT
#
# LuaJIT compiled with options of its own that others use: each conformance program gives the same
# events, by the same recorder. (tests/attach/counts.sh attaches to one that runs.)
#
#   options.sh build SOURCE TO VARIANT OPTIONS MODULE    one LuaJIT, into TO; the C module beside it
#   options.sh conformance LUAJITS CONFORMANCE_TEST MODE [WITHOUT...]
#                                        LUAJITS: the folder of TO; WITHOUT: programs left out
#   options.sh stack TO RECORDER
source "$(dirname "$0")/../lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)

# -O1: the options are tested, not the C compiler.
build() {
  mkdir -p "$2"
  "$root/luajit-usdt/scripts/build-tree" --from "$1" --to "$2" --variant "$3" --once --jobs 2 --xcflags "-O1 $4"
  cp "$5" "$(dirname "$2")/"
}

conformance() {
  local luajits=$1 test=$2 mode=$3 programs=("$root"/tests/conformance/programs/*.expect)
  local count=$((${#programs[@]} - ($# - 3))) filter="*_in_$mode:-"
  shift 3
  for without in "$@"; do filter+="*/${without}_in_$mode:"; done
  LUATRACE_TEST_LUAJITS=$luajits "$test" --gtest_brief=1 --gtest_filter="$filter" >"$scratch/log" 2>&1 ||
    { cat "$scratch/log" >&2; fail "conformance programs in mode $mode"; }
  ! grep -q 'was not built' "$scratch/log" || fail "$(grep -m1 -o '[^ ]* was not built' "$scratch/log")"
  same "numbers of programs and of those that passed" $count \
    "$(sed -n 's/^\[  PASSED  \] \([0-9]*\) tests*\.$/\1/p' "$scratch/log")"
}

# --stack knows the layout of GC64 only: it must say so, and leave the process as it is.
stack() {
  local recorder=$2
  mkfifo "$scratch/end"
  "$1/luajit" -e 'print(io.read())' <"$scratch/end" >"$scratch/said" &
  local pid=$!
  started+=($pid)
  exec 7>"$scratch/end"
  runs $pid "$1/luajit"
  refuses "has a LuaJIT without GC64" "$recorder" --stack -p $pid
  echo alive >&7
  wait $pid
  same "what the program says afterwards" "$(cat "$scratch/said")" alive
}

"$@"
