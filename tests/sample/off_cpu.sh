#!/bin/bash
# SPDX-License-Identifier: MIT
#
# --off-cpu: shares of blocked time are right within the error of the sampling, and its sum; work does
# not appear; not more samples than asked for.
#
#   off_cpu.sh RECORD LUAJIT ANALYZE -jon|-joff plain|coroutines
source "$(dirname "$0")/../lib.sh"
source "$(dirname "$0")/lib.sh"
record=$1 luajit=$2 analyze=$3 jit=$4 mode=$5 hz=199
needs_sampling "$record" --off-cpu

truth=$("$record" --sample $hz --off-cpu -q -o "$scratch/w.bin" -- "$luajit" "$jit" "$sample_here/waits.lua" 2 "$mode" $hz)
"$analyze" --report --limit 0 --json "$scratch/w.bin" >"$scratch/w.json"
of() { jq --arg name "$1" "[.functions[] | select(.kind == \"lua\" and .name == \$name).$2] | add // 0" "$scratch/w.json"; }
same "samples of the busy loop" "$(of busy samples)" 0
samples=$(jq .trace.samples "$scratch/w.json") lost=$(jq .trust.lost "$scratch/w.json")
same "lost" "$lost" 0
python3 - $hz $samples "$(of long inclusive_ns)" "$(of short inclusive_ns)" $truth <<'END' || { jq -c '[.functions[] | [.name, .samples, .inclusive_ns]][:15]' "$scratch/w.json"; fail "blocked time"; }
import math, sys
hz, samples, long, short, true_long, true_short, var_long, var_short = map(float, sys.argv[1:])
long, short, all = long / 1e9, short / 1e9, true_long + true_short
p, error = true_long / all, 4.5 * math.sqrt(var_long + var_short)
share = long / (long + short)
# What the share is wrong by follows from what both sums are wrong by.
share_error = 4.5 * math.sqrt((1 - p) ** 2 * var_long + p**2 * var_short) / all
print(f"share {share:.4f}, not {p:.4f} +- {share_error:.4f}; sum {long + short:.3f}, not {all:.3f} +- {error:.3f}; {samples} samples")
bad = abs(share - p) > share_error + 0.01  # the program's clock includes its own calls
bad |= long + short > all + error or long + short < 0.9 * all - error
bad |= samples > hz * all + 4.5 * math.sqrt(hz * all)
sys.exit(bad)
END
