#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Counting an iteration of a segment changes no register, also where machine code is too far away from the
# library for a direct call: upstream then makes the call with rax. So it is an indirect one.
#
#   far_code.sh BUILD LUAJIT     LUAJIT: the folder of a LuaJIT for x86-64
source "$(dirname "$0")/../lib.sh"
build=$1 luajit=$2
[ "$(uname -m)" = x86_64 ] || skip "not an x86-64 machine"

echo 'local function f(a) return a + 1 end local s = 0 for i = 1, 1000 do s = f(s) end' >"$scratch/loop.lua"
LUA_PATH="$luajit/?.lua;;" "$build/bin/luatrace-record" -q --times segments -o "$scratch/trace.bin" -- \
  "$luajit/luajit" -jdump=m "$scratch/loop.lua" >"$scratch/dump"
grep -q ' sub dword \[r14' "$scratch/dump" || fail "no iteration is counted: $(cat "$scratch/dump")"
calls=$(sed -n '/ sub dword \[r14/,+2p' "$scratch/dump" | grep -c ' call \[r14' || true)
[ "$calls" -ge 1 ] || fail "counting an iteration calls directly: $(grep -A 2 ' sub dword \[r14' "$scratch/dump")"
