#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What the reference of R3 gets wrong: 15 Lua functions in a stack, chunk names of 80 bytes, the Lua stack that
# was seen first with a C stack, coroutines that have yielded or ended, LuaJITs that are linked statically.
#
#   defects.sh RECORD LUAJIT
source "$(dirname "$0")/../lib.sh"
source "$(dirname "$0")/lib.sh"
record=$1 luajit=$2
needs_sampling "$record"

"$record" --sample 997 -q -o "$scratch/d.bin" -- "$luajit" "$sample_here/defects.lua" 0.2
samples "$scratch/d.bin" >"$scratch/d.txt"
count() { grep -Ec -e "$1" "$scratch/d.txt" || true; }

same "functions of the deepest stack" "$(awk '{ n = gsub(/:deep(;|$)/, "&"); if (n > max) max = n } END { print max }' "$scratch/d.txt")" 121
[ "$(count "L:@(directory/){30}file.lua:[0-9]+:inside;")" -gt 10 ] || fail "the long name of the chunk"
[ "$(count ':ghost;')" -gt 10 ] || fail "the coroutine was not seen"
[ "$(count ':after;')" -gt 20 ] || fail "the main coroutine was not seen"
same "stacks with a coroutine that does not run" "$(grep ':after;' "$scratch/d.txt" | grep -c ':ghost;' || true)" 0
