#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What compiled code calls is charged to the inlined function that calls it, also if no guard is between: 99 of 100
# samples in C functions below the loop. The collector's steps are the loop's.
#
#   inlined.sh RECORD LUAJIT ANALYZE
source "$(dirname "$0")/../lib.sh"
source "$(dirname "$0")/lib.sh"
record=$1 luajit=$2 analyze=$3
needs_sampling "$record"

bad=
for mode in set fill tail pad join cut new power divide; do
  "$record" --sample 997 -q -o "$scratch/i.bin" -- "$luajit" "$sample_here/inlined.lua" "$mode" 1
  "$analyze" -q --format folded "$scratch/i.bin" >"$scratch/i.txt"
  python3 - "$scratch/i.txt" "$mode" <<'END' || bad="$bad $mode"
import collections, re, sys
mode, calls = sys.argv[2], collections.Counter()
LEAVES = "[GC]", "[JIT]", "lj_gc_step_jit", "lj_trace_exit", "trace_exit_cp"
for line in open(sys.argv[1]):
    frames, ns = line.rstrip("\n").rsplit(" ", 1)
    frames = frames.split(";")
    lua = [f.split(" ")[0] for f in frames if re.search(r"/inlined\.lua:\d+\)$", f)]
    if lua and "/inlined.lua:" not in frames[-1] and not any(f.startswith(LEAVES) for f in frames):
        calls[lua[-1]] += int(ns) // 1000000  # samples
print(mode, dict(calls))
sys.exit(calls[mode] < 100 or calls[mode] * 100 < sum(calls.values()) * 99)
END
done
[ -z "$bad" ] || fail "time is charged to another function:$bad"
