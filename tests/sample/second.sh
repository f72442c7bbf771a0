#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A process that has a LuaJIT, and has been sampled for a while, loads another one: it is found within a second.
#
#   second.sh RECORD LUAJIT OTHER_BUILD COMPILER
source "$(dirname "$0")/../lib.sh"
source "$(dirname "$0")/lib.sh"
record=$1 luajit=$2 build=$3 cc=$4
needs_sampling "$record"

"$cc" -shared -fPIC -O1 -I"$build/include/luajit-2.1" "$sample_here/second.c" -o "$scratch/second.so" -L"$build" -lluajit-5.1 -lpthread
LD_LIBRARY_PATH=$build "$record" --sample 499 -q -o "$scratch/r.bin" -- "$luajit" "$sample_here/second.lua" "$scratch/second.so"
samples "$scratch/r.bin" >"$scratch/r.txt"
first=$(grep -cE 'L:[^;]*:first' "$scratch/r.txt" || true) second=$(grep -cE 'L:=second:[0-9]+:second' "$scratch/r.txt" || true)
echo "$first samples of the first, $second of the second"
[ "$first" -gt 500 ] || fail "only $first samples of the first LuaJIT"
# 4 s at 499 Hz; a busy machine may look later.
[ "$second" -gt 200 ] || fail "only $second samples of the second LuaJIT"
