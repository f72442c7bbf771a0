#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The status line: on a terminal only, erased before each message, and not with -q; of a command only
# if its output goes elsewhere.
source "$(dirname "$0")/lib.sh"
command -v script >/dev/null || skip "script is missing"
export TERM=xterm
begin "$bin/luajit" -e 'while true do os.clock() end'
runs $target "$bin/luajit"

# on_terminal LINE: runs it there, until it shows a status line (or for three seconds), then ends it.
shows() { grep -qE '[0-9]+:[0-9]{2}  [0-9,]+ events/s  [0-9.]+ [kMG]?B(ytes)?  [0-9,]+ lost' "$scratch/screen"; }
on_terminal() {
  : >"$scratch/screen"
  script -qfec "exec $1" "$scratch/screen" </dev/null >/dev/null 2>&1 &
  terminal=$!
  started+=($terminal)
  recorder_of() { recorder=$(cat "/proc/$terminal/task/$terminal/children") && [ -n "$recorder" ]; }
  within 20 "script" recorder_of
  ${2:-within 60 "a status line" shows}
  kill -INT ${recorder% } 2>/dev/null || true
  wait $terminal || true
}
on_terminal "'$bin/luatrace-record' --ring-size 64M -o '$scratch/t.bin' -p $target"
grep -q 'next: ' "$scratch/screen" || fail "no summary: $(cat "$scratch/screen")"
# Each status line is erased before whatever follows it.
! sed $'s/ lost\r\e\\[K//g' "$scratch/screen" | grep -E 'events/s.* [0-9,]+ lost' || fail "text after a status line"

on_terminal "'$bin/luatrace-record' -q -o '$scratch/t.bin' -p $target" "sleep 3"
! shows || fail "a status line with -q"
"$bin/luatrace-record" -o "$scratch/t.bin" -p $target -d 2.5 2>"$scratch/screen"
! shows && ! grep -q $'\r' "$scratch/screen" || fail "a status line without a terminal"

loop="'$bin/luajit' -e 'while true do os.clock() end'"
on_terminal "'$bin/luatrace-record' -o '$scratch/t.bin' $loop" "sleep 3"
! shows || fail "a status line in the command's output"
on_terminal "'$bin/luatrace-record' -o '$scratch/t.bin' $loop >/dev/null"
