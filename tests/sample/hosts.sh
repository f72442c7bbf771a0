#!/bin/bash
# SPDX-License-Identifier: MIT
#
# C stacks side by side in one mapping: a thread or fiber outside Lua has no Lua functions of another one.
#
#   hosts.sh RECORD ANALYZE BUILD_OF_FLAVOUR COMPILER threads|fibers
source "$(dirname "$0")/../lib.sh"
source "$(dirname "$0")/lib.sh"
record=$1 analyze=$2 build=$3 cc=$4 mode=$5
needs_sampling "$record"

host hosts
LD_LIBRARY_PATH=$build "$record" --sample 997 -q -o "$scratch/h.bin" -- "$scratch/hosts" "$mode" 1
"$analyze" -q --format folded --frames L "$scratch/h.bin" >"$scratch/h.txt"
# SAMPLES of the stacks with these functions
count() { awk "$1 { n += \$NF } END { print n + 0 }" "$scratch/h.txt"; }
pure=$(count '/C:pure_c/') wrong=$(count '/C:pure_c/ && /L:/') lua=$(count '/L:/')
[ "$pure" -gt 200 ] || fail "only $pure samples of the C function"
[ "$lua" -gt 0 ] || fail "no samples of Lua"
same "samples of the C function with another's Lua stack" "$wrong" 0
