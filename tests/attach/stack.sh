#!/bin/bash
# SPDX-License-Identifier: MIT
#
# luatrace-record --stack: the Lua stacks of every coroutine of a running process, compiled or
# interpreted, running or asleep. The process is not changed, and goes on, also if the recorder is
# killed meanwhile.
source "$(dirname "$0")/lib.sh"
lua=$here/stack.lua
stack() { "$bin/luatrace-record" --stack "$@" 2>"$scratch/stack.err"; }
# The calls of the coroutines in a state, a line for each stack: "NUMBER NAME:LINE NAME:LINE ...".
stacks_in() { # STATE
  jq -r --arg state "$1" '.processes[0].vms[0].coroutines[] | select(.state == $state) | [.calls[] |
    if .kind == "lua" then "\(if .name == "" then "@\(.line_defined)" else .name end):\(.line)" else "[\(.kind)]\(.name)" end] |
    join(" ")' "$scratch/stack.json" | sort | uniq -c | sed 's/^ *//'
}
start() { # WORDS...
  rm -f "$scratch/ready"
  begin "$bin/luajit" "$lua" "$@" "$scratch/ready"
  ready
}
read_stacks() { stack --json -p "$1" >"$scratch/stack.json" || fail "--stack: $(cat "$scratch/stack.err")"; }
# One of ten may fall between two instructions, or into the call of `leaf`.
running_matches() { read_stacks $target && stacks_in running | grep -xE "$1" >/dev/null; }

for how in jit interpreter; do
  start $how loop
  within 30 "leaf ($how)" running_matches '1 leaf:(9|1[01]) middle:24 @40:42'
  same "suspended ($how)" "$(stacks_in suspended)" "500 [builtin]yield inner:28 waiter:29"
  same "not started ($how)" "$(stacks_in 'not started')" "1 waiter:27"
  stacks_in normal | grep -E '^1 \[builtin\]outer go:44 @0:46( \[c\])?$' >/dev/null || fail "normal ($how): $(stacks_in normal)"
  same "coroutines ($how)" "$(jq '.processes[0].vms[0].coroutines | length' "$scratch/stack.json")" 503
  same "notes ($how)" "$(jq -c '.processes[0].notes' "$scratch/stack.json")" "[]"
  # A busy machine may delay us, but not each time.
  short() { read_stacks $target && jq -e '.processes[0].stopped_ns | . > 0 and . <= 100e6' "$scratch/stack.json" >/dev/null; }
  within 30 "a stop of 100 ms or less" short
  stack -p $target >"$scratch/text"
  grep -qx '    \[C\]  yield' "$scratch/text" || fail "text: $(cat "$scratch/text")"
  grep -q 'stack.lua:24  middle$' "$scratch/text" || fail "text: $(cat "$scratch/text")"
  grep -q '^  500 coroutines (.*): suspended$' "$scratch/text" || fail "text: $(cat "$scratch/text")"
  all_off $target || fail "something was written into the process"
  # Killed at any moment, the recorder leaves a process that runs.
  for delay in 0 0.005 0.01 0.02 0.03 0.04; do
    "$bin/luatrace-record" --stack -p $target >/dev/null 2>&1 &
    victim=$!
    sleep $delay
    kill -9 $victim 2>/dev/null || true
    wait $victim 2>/dev/null || true
    works $target 2
  done
  kill -9 $target
done

start jit sleep
settles $target
slept_before=$(slept $target)
read_stacks $target
same "asleep" "$(stacks_in running)" "1 [builtin]poll sleep:14 middle:24 @40:42"
same "sleeps that were interrupted" "$(slept $target)" "$slept_before"
same "stopped_ns" "$(jq '.processes[0].stopped_ns' "$scratch/stack.json")" 0
sleeper=$target

# Allocating, in callbacks of C functions: every stack must be one that the program can have.
start jit grow
for i in $(seq 30); do
  read_stacks $target
  stacks_in running | grep -E '^1 (.* )?(grow:18 )?middle:24 @40:42$' >/dev/null || fail "impossible: $(stacks_in running)"
done
# Several processes, and descendants.
stack --json -p $target -p $sleeper >"$scratch/two.json"
same "processes" "$(jq -c '[.processes[].pid]' "$scratch/two.json")" "[$target,$sleeper]"
bash -c '"$@" & wait' _ "$bin/luajit" "$lua" jit sleep "$scratch/child" &
parent=$!
started+=($parent)
within 20 "the child" test -e "$scratch/child"
stack --children --json -p $parent >"$scratch/child.json" || fail "--children: $(cat "$scratch/stack.err")"
same "descendants" "$(jq '.processes | length' "$scratch/child.json")" 1
kill -9 "$(jq '.processes[0].pid' "$scratch/child.json")"

# Refusals.
sleep 300 &
none=$!
started+=($none)
status() { local status=0; stack "$@" >/dev/null || status=$?; echo $status; }
same "status without LuaJIT" "$(status -p $none)" 122
same "status without a process" "$(status -p 999999999)" 120
same "status without -p" "$(status)" 125
same "status with -o" "$(status -p $target -o x)" 125
kill -9 $target $sleeper
