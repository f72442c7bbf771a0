#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Samples that the kernel's timer skips are counted as lost: with those that were taken they are the process's CPU time.
# Without any skipped ones nothing is lost.
#
#   skipped.sh RECORD LUAJIT ANALYZE
source "$(dirname "$0")/../lib.sh"
source "$(dirname "$0")/lib.sh"
record=$1 luajit=$2 analyze=$3
needs_sampling "$record"
limit=/proc/sys/kernel/perf_event_max_sample_rate
before=$(cat $limit)
restore() { echo "$before" >$limit; }
echo "$before" 2>/dev/null >$limit || skip "$limit cannot be changed here"

# Its CPU time in ms, which it prints, all of it by Lua code.
program='local stop = os.clock() + 3; while os.clock() < stop do end; print(math.floor(os.clock() * 1000))'
take() {
  "$record" --sample 4999 -o "$scratch/s.bin" -- "$luajit" -e "$program" >"$scratch/cpu" 2>"$scratch/err"
  "$analyze" --json "$scratch/s.bin" >"$scratch/s.json" 2>"$scratch/warnings"
  python3 - "$scratch/s.json" "$scratch/cpu" <<'END'
import json, sys
trust = json.load(open(sys.argv[1]))["trust"]
print(trust["events"], trust["lost"], int(open(sys.argv[2]).read()) * 4999 // 1000)
END
}
read -r taken lost all < <(take)
echo "$taken samples, $lost lost, of $all"
[ "$taken" -gt $((all * 9 / 10)) ] && [ "$lost" = 0 ] || fail "$taken samples and $lost lost, of $all: $(cat "$scratch/err")"

trap 'restore; end_started; rm -rf "$scratch"' EXIT
echo 1000 >$limit
read -r taken lost all < <(take)
restore
echo "throttled: $taken samples, $lost lost, of $all"
[ "$taken" -lt $((all / 2)) ] || fail "the kernel did not skip samples"
[ $((taken + lost)) -gt $((all * 9 / 10)) ] && [ $((taken + lost)) -lt $((all * 11 / 10)) ] ||
  fail "$taken samples and $lost lost are not $all"
grep "LOST: .* samples; the kernel's timer has skipped" "$scratch/err" >/dev/null || fail "the summary: $(cat "$scratch/err")"
grep "samples were lost" "$scratch/warnings" >/dev/null || fail "the analyzer: $(cat "$scratch/warnings")"
