#!/bin/bash
# SPDX-License-Identifier: MIT
# The example computes the same with and without the JIT compiler, on every
# LuaJIT, patched or not.
#   example.sh BUILD_OF_FLAVOUR PROGRAM
source "$(dirname "$0")/../lib.sh"

first=
count=0
for directory in "$1" "$1-upstream" "$1-assert"; do
  [ -x "$directory/luajit" ] || continue
  for options in -jon -joff "-Ohotloop=1 -Ohotexit=1" -O0; do
    # shellcheck disable=SC2086 # several options
    output=$("$directory/luajit" $options "$2" 30)
    first=${first:-$output}
    same "outputs ($directory $options)" "$output" "$first"
    count=$((count + 1))
  done
done
(cd / && [ "$("$1/luajit" "$2" 30)" = "$first" ]) || fail "another result from another folder"
[[ $first =~ ^30\ rounds,\ checksum\ [0-9]{10}$ ]] || fail "unexpected output: $first"
[ $count -ge 4 ] || fail "nothing was run"
refuses usage "$1/luajit" "$2" nonsense
