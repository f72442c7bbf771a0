#!/bin/bash
# SPDX-License-Identifier: MIT
# Suspended time is in a function's wall time but not in its running time. Only inequalities that hold
# on any machine, however busy: work took 40 ms or more, the sleep 200 ms or more, and the sleep is in
# wall but not in running or self.
source "$(dirname "$0")/../lib.sh"
build=$1 here=$(cd "$(dirname "$0")" && pwd)
for option in -jon -joff; do
  "$build/bin/luatrace-record" -q -o "$scratch/t.bin" -- "$build/bin/luajit" $option "$here/suspended.lua"
  "$build/bin/luatrace-analyze" --json="$scratch/t.json" "$scratch/t.bin" >/dev/null
  jq -e '.functions[] | select(.kind == "lua" and .line == 9)
    | .calls == 1 and .inclusive_ns >= 40e6 and .wall_ns - .inclusive_ns >= 200e6
      and .self_ns <= .inclusive_ns and .inclusive_ns < .wall_ns' "$scratch/t.json" >/dev/null ||
    fail "$option: $(jq -c '.functions[] | select(.line == 9)' "$scratch/t.json")"
  jq -e '.trust.anomalies == 0' "$scratch/t.json" >/dev/null || fail "$option: $(jq -c .trust "$scratch/t.json")"
done
jq -c '.functions[] | select(.line == 9)' "$scratch/t.json"
