#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Shares of samples are those of CPU time: two functions with the same C stack and different Lua
# stacks, interpreted and compiled, in the main coroutine and in others.
#
#   truth.sh RECORD LUAJIT -jon|-joff plain|coroutines
source "$(dirname "$0")/../lib.sh"
source "$(dirname "$0")/lib.sh"
record=$1 luajit=$2 jit=$3 mode=$4
needs_sampling "$record"

times=$("$record" --sample 997 -q -o "$scratch/t.bin" -- "$luajit" "$jit" "$sample_here/truth.lua" 1.5 "$mode")
samples "$scratch/t.bin" >"$scratch/t.txt"
python3 "$sample_here/shares.py" "$scratch/t.txt" "$times" ||
  { cut -d' ' -f2- "$scratch/t.txt" | sort | uniq -c | sort -rn | head -n 20 >&2; fail "shares ($times)"; }
