#!/bin/bash
# SPDX-License-Identifier: MIT
#
# C and Lua functions are in the order of their calls at the moment when C enters Lua or returns, too;
# and errors that leave coroutines keep the stack below.
#
#   order.sh RECORD LUAJIT -jon|-joff MODE
source "$(dirname "$0")/../lib.sh"
source "$(dirname "$0")/lib.sh"
record=$1 luajit=$2 jit=$3 mode=$4
needs_sampling "$record"

"$record" --sample 1999 -q -o "$scratch/o.bin" -- "$luajit" "$jit" "$sample_here/order.lua" "$mode" 1.5
samples "$scratch/o.bin" >"$scratch/o.txt"
# From the main chunk on the process is in Lua: the chunk's function is outside of what it has called,
# directly inside of the C functions that have called it, which nothing of Lua is outside of.
awk '/L:[^;]*order\.lua:0:/ { from = 1 } from' "$scratch/o.txt" >"$scratch/in.txt"
all=$(wc -l <"$scratch/in.txt")
[ "$all" -gt 1000 ] || fail "only $all samples"
# More C functions outside of the chunk than in nearly all samples: those that it has called.
usual=$(sed 's/;L:[^;]*order\.lua:0:.*//' "$scratch/in.txt" | awk '{ print gsub(/N:/, "") }' | sort -n | awk '{ a[NR] = $1 } END { print a[int((NR + 1) / 2)] }')
wrong=$(sed -n 's/;L:[^;]*order\.lua:0:.*//p' "$scratch/in.txt" | awk -v usual="$usual" 'gsub(/N:/, "") > usual' | wc -l)
lost=$(grep -vc 'L:[^;]*order\.lua:0:' "$scratch/in.txt" || true)
same "samples with C functions in the wrong place" "$wrong" 0
# The process's end is without Lua, and the first samples of a function may be without its name.
[ $((lost * 200)) -lt "$all" ] || { grep -v 'L:[^;]*order\.lua:0:' "$scratch/in.txt" | cut -d' ' -f2- | sort | uniq -c | sort -rn | head -n 5 >&2; fail "$lost of $all samples have lost the stack"; }
