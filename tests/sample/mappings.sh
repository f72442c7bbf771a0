#!/bin/bash
# SPDX-License-Identifier: MIT
#
# While a process changes its mappings the kernel does not say where the stack of a thread ends: the thread's Lua is known
# all the same.
#
#   mappings.sh RECORD BUILD_OF_FLAVOUR COMPILER
source "$(dirname "$0")/../lib.sh"
source "$(dirname "$0")/lib.sh"
record=$1 build=$2 cc=$3
needs_sampling "$record"

host mappings
LD_LIBRARY_PATH=$build "$record" --sample 1997 --user-only -q -o "$scratch/m.bin" -- "$scratch/mappings" 4
samples "$scratch/m.bin" >"$scratch/all.txt"
thread=$(sed -n '/L:/{s/ .*//p;q}' "$scratch/all.txt")
grep "^$thread " "$scratch/all.txt" | sed -n '/L:/,$p' >"$scratch/m.txt"
all=$(wc -l <"$scratch/m.txt")
lost=$(grep -cE ' unknown$' "$scratch/m.txt" || true)
[ "$all" -gt 300 ] || fail "only $all stacks"
[ $((lost * 100)) -le "$all" ] || fail "$lost of $all stacks are not known"
echo "$lost of $all stacks are not known"
