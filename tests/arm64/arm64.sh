#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The fork on arm64, with a cross compiler and qemu's user mode.
#
#   arm64.sh build SOURCE TO FLAVOUR            the traced LuaJITs and the C module, into TO
#   arm64.sh conformance TO CONFORMANCE_TEST MODE    every program of tests/conformance
#   arm64.sh objects TO FLAVOUR                 what only the object files show
#   arm64.sh identity SOURCE                    with the switch off: upstream's object files
#
# The emulator keeps the stores of the program in order, as the machine below it does. Whether arm64
# hardware may reorder them is seen in the object files only.
source "$(dirname "$0")/../lib.sh"
tests=$(cd "$(dirname "$0")/.." && pwd)
sysroot=/usr/aarch64-linux-gnu
emulator="qemu-aarch64-static -L $sysroot"
export CROSS_COMPILE=aarch64-linux-gnu-

for needed in "${CROSS_COMPILE}gcc" $sysroot/include/stdio.h qemu-aarch64-static; do
  [ -e "$needed" ] || command -v "$needed" >/dev/null ||
    skip "nothing was run on arm64: no $needed (gcc-aarch64-linux-gnu, libc6-dev-arm64-cross, qemu-user-static)"
done

build_variant() {
  "$tests/../luajit-usdt/scripts/build-tree" --from "$1" --to "$2" --variant "$3" \
    --once --cross "$CROSS_COMPILE" --jobs 1
}

build() {
  local from=$1 to=$2 flavour=$3 patched failed=
  mkdir -p "$to"
  build_variant "$from" "$to/$flavour" patched &
  patched=$!
  build_variant "$from" "$to/$flavour-assert" assert || failed=1
  wait $patched || failed=1
  [ -z "$failed" ] || fail "LuaJIT could not be built for arm64"
  "${CROSS_COMPILE}gcc" -shared -fPIC -Wall -Wextra -I"$to/$flavour/include/luajit-2.1" \
    "$tests/conformance/conformance_module.c" -o "$to/conformance_module.so"
  for flavour in "$flavour" "$flavour-assert"; do
    same "what $flavour is" "$($emulator "$to/$flavour/luajit" -e 'print(jit.arch, (jit.status()))')" $'arm64\ttrue'
  done
}

conformance() {
  local to=$1 test=$2 mode=$3 programs=("$tests"/conformance/programs/*.expect) status=0
  LUATRACE_TEST_LUAJITS=$to LUATRACE_TEST_EMULATOR=$emulator \
    "$test" --gtest_brief=1 --gtest_filter="*_in_$mode" >"$scratch/log" 2>&1 || status=$?
  [ $status = 0 ] || [ $status = 77 ] || { cat "$scratch/log" >&2; fail "conformance programs in mode $mode"; }
  ! grep -q 'was not built' "$scratch/log" || skip "$(grep -m1 -o '[^ ]* was not built' "$scratch/log")"
  same "numbers of programs and of those that passed" ${#programs[@]} \
    "$(sed -n 's/^\[  PASSED  \] \([0-9]*\) tests*\.$/\1/p' "$scratch/log")"
}

objects() {
  local luajit=$1/$2
  "$tests/dropin/notes.sh" "$luajit"
  "${CROSS_COMPILE}objdump" -d --no-show-raw-insn --disassemble=lj_ltrec_jitword "$luajit/luajit" >"$scratch/word"
  grep -qw stlr "$scratch/word" || fail "lj_ltrec_jitword does not store its word with release:
$(cat "$scratch/word")"
}

identity() {
  "$tests/dropin/identity.sh" "$1"
}

"$@"
