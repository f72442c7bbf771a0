#!/bin/bash
# SPDX-License-Identifier: MIT
# Suspended time is wall time and no function's running time. Only inequalities that hold on any
# machine, however busy: work took at least its 40 ms, the sleep at least its 200 ms, and the sleep
# is in wall but not in running or self.
source "$(dirname "$0")/../lib.sh"
build=$1 here=$(cd "$(dirname "$0")" && pwd)
for option in -jon -joff; do
  "$build/bin/luatrace-record" -q -o "$scratch/t.bin" -- "$build/bin/luajit" $option "$here/suspended.lua"
  "$build/bin/luatrace-analyze" --json="$scratch/t.json" "$scratch/t.bin" >/dev/null
  jq -e '.functions[] | select(.kind == "lua" and .line == 9)
    | .calls == 1 and .running_ns >= 40e6 and .wall_ns - .running_ns >= 200e6
      and .self_ns <= .running_ns and .running_ns < .wall_ns' "$scratch/t.json" >/dev/null ||
    fail "$option: $(jq -c '.functions[] | select(.line == 9)' "$scratch/t.json")"
  jq -e '.trust.anomalies == 0' "$scratch/t.json" >/dev/null || fail "$option: $(jq -c .trust "$scratch/t.json")"
done
jq -c '.functions[] | select(.line == 9)' "$scratch/t.json"
