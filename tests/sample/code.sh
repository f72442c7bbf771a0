#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Samples have the place in compiled code: in a trace that a recording of the same process describes, by its number and
# size. With them the time of a function that is a few instructions and a slow call is apportioned to it.
#
#   code.sh RECORD LUAJIT ANALYZE
source "$(dirname "$0")/../lib.sh"
source "$(dirname "$0")/lib.sh"
record=$1 luajit=$2 analyze=$3
needs_sampling "$record"
[ "$(uname -m)" = x86_64 ] || skip "samples are taken on x86-64"

"$record" --sample 997 --lua-only -q -o "$scratch/s.bin" -- \
  "$record" --times segments -q -o "$scratch/t.bin" -- "$luajit" "$sample_here/code.lua" 1.5 2>"$scratch/err"
"$analyze" --dump "$scratch/s.bin" >"$scratch/s.txt"
"$analyze" --dump "$scratch/t.bin" | grep '^segments ' >"$scratch/segments"
awk 'NR == FNR { match($0, / trace=[0-9]+ bytes=[0-9]+/); known[substr($0, RSTART, RLENGTH)] = 1; next }
     / state=compiled / { compiled++; if (/ trace=/) placed++ }
     /^sample / && match($0, / trace=[0-9]+ bytes=[0-9]+/) {
       placed_all++; described += substr($0, RSTART, RLENGTH) in known
       split($0, a, " at="); split(a[2], b, " "); split($0, c, " bytes="); split(c[2], d, " "); outside += b[1] + 0 >= d[1] + 0 }
     END { print compiled + 0, placed + 0, placed_all + 0, described + 0, outside + 0 }' \
  "$scratch/segments" "$scratch/s.txt" >"$scratch/counts"
read -r compiled placed all described outside <"$scratch/counts"
[ "$all" -gt 500 ] || fail "samples with a place: $(cat "$scratch/counts")"
[ $((placed * 100)) -ge $((compiled * 95)) ] || fail "in compiled code, with a place: $(cat "$scratch/counts")"
[ $((described * 100)) -ge $((all * 95)) ] || fail "in described code: $(cat "$scratch/counts")"
same "samples beyond the end of the code" "$outside" 0

# per cent of the program's self time in power(); of a recording that which was apportioned: it has no part in what
# else a busy machine does
share() {
  "$analyze" -q --json "$@" | python3 -c '
import json, sys
f = [r for r in json.load(sys.stdin)["functions"] if r["kind"] == "lua" and r["chunk"].endswith("/code.lua")]
key = "self_apportioned_ns" if any("self_apportioned_ns" in r for r in f) else "self_ns"
print(round(100 * sum(r.get(key, 0) for r in f if r["line"] == 4) / sum(r.get(key, 0) for r in f)))'
}
sampled=$(share "$scratch/s.bin") size=$(share "$scratch/t.bin") weighed=$(share --weights "$scratch/s.bin" "$scratch/t.bin")
echo "power: $sampled % of the samples, $size % by size, $weighed % by samples"
[ "$sampled" -gt $((size + 20)) ] || fail "size is right already"
[ $((weighed - sampled)) -ge -5 ] && [ $((weighed - sampled)) -le 5 ] || fail "by samples"
"$analyze" --weights "$scratch/s.bin" "$scratch/t.bin" >"$scratch/report"
grep -Eq 'apportioned inside compiled segments \(by [0-9,]+ samples\)' "$scratch/report" || fail "$(tail -n 3 "$scratch/report")"

# A saved profile keeps that, and a comparison with one that is by size says so.
"$analyze" -q --weights "$scratch/s.bin" --save-profile "$scratch/w.profile" "$scratch/t.bin" >/dev/null
"$analyze" -q --json "$scratch/w.profile" | jq -e '.trace.weight_samples > 0' >/dev/null || fail "weight_samples of a saved profile"
"$analyze" --diff "$scratch/t.bin" "$scratch/w.profile" 2>&1 >/dev/null | grep -F "apportioned by the size of the code in $scratch/t.bin" >/dev/null || fail "no warning of --diff"
warned=$("$analyze" --diff "$scratch/w.profile" "$scratch/w.profile" 2>&1 >/dev/null) || fail "--diff of equal profiles: $warned"
same "a warning of --diff without a reason" "$warned" ""
