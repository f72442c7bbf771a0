#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Operators and builtins, each called by a function of its own for the same time: the function is in its share of the
# stacks, and at most one of 200 stacks is without it or partly unknown.
#
#   builtins.sh RECORD LUAJIT on|off
source "$(dirname "$0")/../lib.sh"
source "$(dirname "$0")/lib.sh"
record=$1 luajit=$2 jit=$3
needs_sampling "$record"

# 0.9 s are 1,700 samples of each: 15 % are six standard deviations. The clock is the main chunk's time.
times=(0.9 3000)
[ "$jit" = off ] || times=(0.3 30000)
"$record" --sample 1997 -q -o "$scratch/b.bin" -- "$luajit" "-j$jit" "$sample_here/builtins.lua" "${times[@]}"
samples "$scratch/b.bin" >"$scratch/b.txt"
python3 - "$scratch/b.txt" "$jit" <<'END'
import collections, re, sys
right, missing, late, at = collections.Counter(), collections.Counter(), 0, 0
for line in open(sys.argv[1]):
    stack = line.rstrip("\n").split(" ", 2)[2]
    found = re.findall(r"L:=operation(\d+):", stack)
    if found and "unknown" not in stack.split(";"):
        missing[at] += late
        right[int(found[0])] += 1
        late, at = 0, int(found[0])
    elif at != 0 and "builtins.lua:0" not in stack:  # the main chunk itself is not at fault
        late += 1  # at the end the process has left Lua
total, lost = sum(right.values()), sum(missing.values())
print(total, "right,", lost, "without:", {n: (lost, right[n]) for n, lost in missing.items() if lost})
expected = total / len(right)
uneven = {n: count for n, count in right.items() if abs(count - expected) > 0.15 * expected}
if sys.argv[2] == "on":  # some take no time, that of the clock is the main chunk's
    uneven = {}
sys.exit(len(right) != 32 or lost * 200 > total or bool(uneven) and print("uneven:", uneven) is None)
END
