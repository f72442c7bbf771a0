#!/bin/bash
# SPDX-License-Identifier: MIT
# When bpftrace cannot keep up: the trust line gives the exact number of missing events, and
# --strict fails. One page of buffer and a stopped reader ensure that it cannot.
. "$(dirname "$0")/lib.sh"

cat >"$scratch/burst.lua" <<'LUA'
local function leaf(x) return x + 1 end
local function burst(n) local s = 0 for i = 1, n do s = leaf(s) end return s end
burst(200000)
LUA
"$record" -q --block -o "$scratch/direct.bin" -- "$luajit" "$scratch/burst.lua"
BPFTRACE_PERF_RB_PAGES=1 trace -o "$scratch/calls.txt" -c "$luajit $scratch/burst.lua" \
  "$probes/lua-calls.bt" "$luajit"
status=0
"$analyze" --strict "$scratch/calls.txt" >"$scratch/summary" || status=$?
same "status of --strict" $status 3
grep -q '^trust: .* LOST' "$scratch/summary" || fail "$(tail -n 1 "$scratch/summary")"

of() { "$analyze" --json "$scratch/$1" | jq "$2"; }
lost=$(of calls.txt .trust.lost)
[ "$lost" -gt 0 ] || fail "nothing was lost"
# Words that are not hits: START, SWITCH, LOSS.
dump=$("$analyze" --dump=calls "$scratch/calls.txt" | grep -cvE ' (start|switch|loss|thread) ')
whole=$("$analyze" --dump=calls "$scratch/direct.bin" | grep -cvE ' (start|thread) ')
# state__open and state__close are hits, too; the close is STOP in both. A report is one hit.
seen=$(grep -cE '^[ERTUcryeSOX] ' "$scratch/calls.txt")
total=$(sed -n 's/^@seq\[[0-9]*\]: //p' "$scratch/calls.txt")
same "seen and lost" $((seen + lost)) "$total"
same "all hits, and what the direct recorder wrote" "$total" $((whole + 1))
[ "$dump" -le $((seen)) ] || fail "$dump events of $seen hits"
