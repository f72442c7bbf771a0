#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The fork on arm64, with a cross compiler and qemu's user mode.
#
#   arm64.sh build SOURCE TO FLAVOUR            the traced LuaJITs and the C module, into TO
#   arm64.sh conformance TO CONFORMANCE_TEST MODE    every program of tests/conformance
#   arm64.sh random TO RANDOM_PROGRAMS          some random programs
#   arm64.sh switched TO STORM_TEST             tracing is switched on and off while programs run
#   arm64.sh storm TO FLAVOUR BIN UPSTREAM      commands whose ring is too small
#   arm64.sh suite TO FLAVOUR BIN               LuaJIT's own tests, recorded
#   arm64.sh cost TO FLAVOUR BIN LUAJIT         instructions for an event, here and on x64
#   arm64.sh objects TO FLAVOUR BIN             what only machine code shows
#   arm64.sh identity SOURCE                    with the switch off: upstream's object files
#
# The emulator keeps the stores of the program in order, as the machine below it does. Whether arm64
# hardware may reorder them is seen in the machine code only.
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

# emulated TEST...: a test program of ours, with the LuaJITs in $to.
emulated() {
  LUATRACE_TEST_LUAJITS=$to LUATRACE_TEST_EMULATOR=$emulator "$@" >"$scratch/log" 2>&1 || {
    cat "$scratch/log" >&2
    fail "${1##*/}"
  }
}

random() {
  local to=$1
  emulated "$2" --count 12 --seed 900 --modes assert_eager
  tail -n 1 "$scratch/log"
}

# The emulator maps the program like the kernel: a switch from outside works as without it.
switched() {
  local to=$1
  emulated "$2" --gtest_brief=1 --gtest_filter="*/calls_eager_ring:*/errors_assert_eager_all:*/coroutines_nojit_blocks"
  same "storms" "$(sed -n 's/^\[  PASSED  \] \([0-9]*\) tests*\.$/\1/p' "$scratch/log")" 3
}

# storm TO FLAVOUR BIN UPSTREAM: events are lost, and nothing else is.
storm() {
  local luajit=$1/$2-assert/luajit bin=$3 upstream=$4 program how found
  for program in "$tests"/storm/programs/*.lua; do
    "$upstream" "$program" >"$scratch/expected"
    for how in events segments; do
      "$bin/luatrace-record" -q --ring-size 256k --times $how -o "$scratch/trace.bin" -- \
        $emulator "$luajit" -Ohotloop=1 -Ohotexit=1 "$program" >"$scratch/out" 2>"$scratch/err" ||
        fail "$program, $how: $(cat "$scratch/err")"
      cmp "$scratch/expected" "$scratch/out" || fail "$program, $how: the output changed"
      found=$("$bin/luatrace-analyze" --json "$scratch/trace.bin" 2>/dev/null |
        jq -r '.trust | "\(.anomalies - .lost) anomalies, \(.events) events, \(.lost) lost"')
      echo "${program##*/}, $how: $found"
      [[ $found == "0 anomalies"* ]] || fail "$program, $how"
    done
  done
}

# LuaJIT's own tests, of 2016: a folder that exists, or the commit, with git.
suite_url=https://github.com/LuaJIT/LuaJIT-test-cleanup.git
suite_commit=014708bceb70550a3ab8d539cff14d9085ca9cb8
get_suite() {
  local folder=$1
  [ ! -e "$folder/test/test.lua" ] || return 0
  git init -q "$folder"
  GIT_TERMINAL_PROMPT=0 timeout 60 git -C "$folder" -c http.lowSpeedLimit=1000 -c http.lowSpeedTime=10 \
    fetch -q --depth 1 "$suite_url" $suite_commit 2>"$scratch/why" &&
    git -C "$folder" checkout -q $suite_commit
}

# They print the numbers of those that fail: the same as without a recorder.
suite() {
  local luajit=$1/$2-assert/luajit bin=$3 tests=${LUATRACE_LUAJIT_TESTS:-$1/luajit-tests} how
  get_suite "$tests" || skip "$suite_url cannot be had: $(tail -n 1 "$scratch/why")"
  cd "$tests/test"
  $emulator "$luajit" test.lua >"$scratch/expected" 2>&1 || true
  tail -n 2 "$scratch/expected"
  grep -q ' passed' "$scratch/expected" || fail "they did not run to their end"
  for how in events segments; do
    "$bin/luatrace-record" -q --times $how -o "$scratch/trace.bin" -- $emulator "$luajit" test.lua \
      >"$scratch/out" 2>&1 || true
    same "results, $how" "$(tail -n 2 "$scratch/expected")" "$(tail -n 2 "$scratch/out")"
  done
}

# counted PROGRAM...: instructions of a command for 200,000 calls of a Lua function, without its start.
counted() {
  local n before=0
  for n in 200000 400000; do
    rm -f "$scratch/count"
    "$@" "$tests/arm64/calls.lua" $n >/dev/null 2>"$scratch/err" || fail "$*: $(cat "$scratch/err")"
    before=$(($(cat "$scratch/count") - before))
  done
  echo $before
}

# costs NAME LUAJIT EMULATOR...: in thousandths of an instruction for an event.
costs() {
  local name=$1 luajit=$2 how jit idle
  shift 2
  for jit in -jon -joff; do
    idle=$(counted "$@" "$luajit" $jit)
    for how in events segments; do
      [ "$jit $how" != "-joff segments" ] || continue
      echo "$name $jit $how" $((($(counted "$bin/luatrace-record" -q --block --times $how \
        -o "$scratch/trace.bin" -- "$@" "$luajit" $jit) - idle) / 400))
    done
  done
}

cost() {
  local arm=$1/$2/luajit bin=$3 x64=$4 counter=$scratch/counter.so
  command -v qemu-aarch64 qemu-x86_64 >/dev/null || skip "no emulator that counts (package qemu-user)"
  gcc -shared -fPIC -O2 -Wall -Wextra "$tests/arm64/count_instructions.c" -o "$counter"
  export COUNT_INSTRUCTIONS=$scratch/count
  costs arm64 "$arm" qemu-aarch64 -L $sysroot -plugin "$counter" >"$scratch/arm64"
  costs x64 "$x64" qemu-x86_64 -plugin "$counter" >"$scratch/x64"
  # Of compiled code the events themselves are 9; the rest are guards of the loop.
  printf '%s\n' 11.5 4.5 42 | paste - "$scratch/arm64" "$scratch/x64" |
    awk '{ printf "%-5s %-9s arm64 %6.2f (limit %s)   x64 %6.2f instructions for an event\n", $3, $4, $5/1000, $1, $9/1000 }
      !($5 <= 1000 * $1) { bad = 1 } END { exit bad || NR != 3 }' || fail "an event costs more than it may"
}

# stores FUNCTION: of an event word, with release.
stores() {
  "${CROSS_COMPILE}objdump" -d --no-show-raw-insn --disassemble="$1" "$luajit/luajit" >"$scratch/word"
  grep -qw stlr "$scratch/word" || fail "$1 does not store its word with release:
$(cat "$scratch/word")"
}

objects() {
  local luajit=$1/$2 bin=$3 how code expected function
  "$tests/dropin/notes.sh" "$luajit"
  for function in lj_ltrec_jitword lj_ltvm_func lj_ltvm_ret; do stores $function; done
  for how in events segments; do
    code=$("$bin/luatrace-record" -q --times $how -o "$scratch/trace.bin" -- \
      $emulator "$luajit/luajit" "$tests/arm64/machine_code.lua" 2>"$scratch/err")
    expected=$'4\t4'
    [ $how = events ] || expected=$'0\t0'
    same "stores with release and times in compiled code, $how" "$code" "$expected"
    "$bin/luatrace-analyze" --dump "$scratch/trace.bin" >"$scratch/dump"
    grep -q '^clock cntvct ' "$scratch/dump" || fail "its times are not the counter's: $(head -n 2 "$scratch/dump")"
  done
}

identity() {
  "$tests/dropin/identity.sh" "$1"
}

"$@"
