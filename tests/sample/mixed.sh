#!/bin/bash
# SPDX-License-Identifier: MIT
#
# R3.1: Lua, C and kernel functions in one stack, in the order in which they called each other; in a
# LuaJIT that is linked statically.
#
#   mixed.sh RECORD LUAJIT
source "$(dirname "$0")/../lib.sh"
source "$(dirname "$0")/lib.sh"
record=$1 luajit=$2
needs_sampling "$record"

has() { # WHAT PATTERN
  grep -Eq -e "$2" "$scratch/m.txt" || { sort "$scratch/m.txt" | uniq -c | sort -rn | head -n 15 >&2; fail "no stack with $1"; }
}

"$record" --sample 499 -q -o "$scratch/m.bin" -- "$luajit" "$sample_here/mixed.lua" 2
samples "$scratch/m.bin" >"$scratch/m.txt"
has "C between Lua functions" 'L:[^;]*mixed\.lua:[0-9]+:sorting;builtin#table\.sort;(N:[^;]*luajit;)+L:[^;]*mixed\.lua:[0-9]+:compare'
has "the whole stack, from the start of the process" \
  ' N:[^;]*;([NLC]:[^;]*;)*coroutine:[0-9]+;([NLC]:[^;]*;)*L:[^;]*mixed\.lua:0:;L:[^;]*:sorting'
# A virtual machine's kernel may not show its stack at every moment.
has "the kernel below a C function below Lua" 'L:[^;]*:reading;builtin#file:read;(N:[^;]*;)+K:[^;]+'
