#!/bin/bash
# SPDX-License-Identifier: MIT
#
# C resumes coroutines that end, yield or fail, beneath one that Lua has resumed: each call is in a stack once, also after
# a stack that was cut.
#
#   resumed.sh RECORD BUILD_OF_FLAVOUR COMPILER on|off [OPTION]
source "$(dirname "$0")/../lib.sh"
source "$(dirname "$0")/lib.sh"
record=$1 build=$2 cc=$3 jit=$4 option=${5:-}
needs_sampling "$record"

host resumed
LD_LIBRARY_PATH=$build "$record" --sample 1997 $option -q -o "$scratch/r.bin" -- "$scratch/resumed" "$sample_here/resumed.lua" 2 "$jit"
samples "$scratch/r.bin" | grep ':outer' >"$scratch/r.txt" || true
all=$(wc -l <"$scratch/r.txt")
twice=$(grep -cE ':outer.*:outer' "$scratch/r.txt" || true)
[ "$all" -gt 300 ] || fail "only $all stacks"
[ "$twice" -eq 0 ] || { grep -E ':outer.*:outer' "$scratch/r.txt" | cut -d' ' -f2- | sort | uniq -c | sort -rn | head -n 3 >&2; fail "$twice of $all stacks have calls twice"; }
