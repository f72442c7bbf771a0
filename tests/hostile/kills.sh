#!/bin/bash
# SPDX-License-Identifier: MIT
# A recorder that is killed between any two of its writes into a program leaves nothing behind.
#
#   kills.sh BUILD PROGRAM guard|alone [OPTION...]
#
# guard: its guard lives; alone: the guard could not be created, so the program has to notice by
# itself. One program for each number of the write before which the recorder is killed.
source "$(dirname "$0")/../lib.sh"
build=$1 program=$2 how=$3
shift 3
command -v strace >/dev/null || skip "strace is not installed (scripts/deps --test)"
here=$(cd "$(dirname "$0")" && pwd)
last=20 # of the writes: recordings that end before that are not killed
inject=(-e trace=process_vm_writev)
[ "$how" = guard ] || inject=(-e trace=process_vm_writev,clone -e inject=clone:error=EAGAIN:when=1)

targets=()
trap 'for n in "${!targets[@]}"; do stop $n 2>/dev/null; done; rm -rf "$scratch"' EXIT
# Process $1 and its children.
processes() { echo "$1" $(cat "/proc/$1/task/$1/children" 2>/dev/null || true); }
start() {
  "$build/bin/luajit" "$here/programs/kills_$program.lua" </dev/null >/dev/null 2>&1 &
  targets[$1]=$!
}
# Target $1 has its Lua VM, and its child if it will have one.
has_vm() {
  [ "$program" != forks ] || [ "$(processes "${targets[$1]}" | wc -w)" -ge 2 ] || return 1
  "$build/tests/hostile/hostile_vm_state" "${targets[$1]}" 2>/dev/null | grep 'states=[1-9]' >/dev/null
}
await_vm() {
  local try
  for ((try = 0; try < 300; try++)); do
    ! has_vm "$1" || return 0
    sleep 0.1
  done
  fail "$program: program $1 has no Lua VM"
}
record() {
  local status=0
  strace -q -o "$scratch/$1.trace" "${inject[@]}" -e inject="process_vm_writev:signal=KILL:when=$1" \
    "$build/bin/luatrace-record" -o "$scratch/$1.bin" --include '*' -d 0.1 "${@:2}" -p "${targets[$1]}" \
    >/dev/null 2>"$scratch/$1.err" || status=$?
  echo $status >"$scratch/$1.status"
}
clean='^owner=0 ring=0 settings=0 states=[1-9][0-9]* on=0 patched=0$'
# A VM alone does not touch the settings, and notices only when it makes an event: one that makes none
# stays on, which costs it nothing (two slots, of tail calls).
[ "$how" = guard ] || clean='^owner=[01] ring=0 settings=[01] states=[1-9][0-9]* on=0 patched=0$'
[ "$how.$program" != alone.interpreter ] || clean=' (on=0 patched=0|on=1 patched=2)$'
restored() {
  local p
  for p in $(processes "${targets[$1]}"); do
    "$build/tests/hostile/hostile_vm_state" "$p" 2>&1 >"$scratch/$1.state" | cat
    grep -qE "$clean" "$scratch/$1.state" || return 1
  done
}

stop() { # target N and its children
  local p
  for p in $(processes "${targets[$1]}"); do kill -9 "$p" || true; done
  wait "${targets[$1]}" 2>/dev/null || true
  unset "targets[$1]"
}
wait_restored() {
  local try
  for ((try = 0; try < 200; try++)); do
    ! restored "$1" || return 0
    sleep 0.1
  done
  fail "$program, killed before write $1: $(cat "$scratch/$1.state")"
}
together() { # programs that mostly sleep
  local n jobs=()
  for ((n = 1; n <= last; n++)); do start $n; done
  for ((n = 1; n <= last; n++)); do await_vm $n; done
  for ((n = 1; n <= last; n++)); do record $n "$@" 2>/dev/null & jobs[$n]=$!; done
  wait "${jobs[@]}"
  for ((n = 1; n <= last; n++)); do wait_restored $n; done
}
one_by_one() {
  local n
  for ((n = 1; n <= last; n++)); do
    start $n
    await_vm $n
    record $n "$@" 2>/dev/null # the shell reports that it was killed
    wait_restored $n
    stop $n
  done
}

case $program in
  interpreter) one_by_one "$@" ;;
  *) together "$@" ;;
esac
killed=$(cat "$scratch"/*.status | grep -cx 137) || true
# 124: no event came, as on a machine where the program had no processor for 0.1 s.
for n in $(grep -Lx -e 137 -e 0 -e 124 "$scratch"/*.status); do
  fail "ended neither orderly nor by our kill: $(basename "$n") $(cat "$n"): $(cat "${n%.status}.err")"
done
[ "$killed" -ge 6 ] || fail "only $killed recorders were killed"
echo "$killed recorders were killed, each before another write"
