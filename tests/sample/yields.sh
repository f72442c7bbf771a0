#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A coroutine that only yields: at most one of 1,000 stacks is not known, or only in part. The begin of the process, until
# the recorder has found its LuaJIT, and its end do not count.
#
#   yields.sh RECORD BUILD_OF_FLAVOUR COMPILER host|lua on|off
source "$(dirname "$0")/../lib.sh"
source "$(dirname "$0")/lib.sh"
record=$1 build=$2 cc=$3 mode=$4 jit=$5
needs_sampling "$record"

host yields
cat >"$scratch/yields.lua" <<'END'
local yield = coroutine.yield
local co = coroutine.wrap(function() while true do yield() end end)
while os.clock() < 1.5 do for i = 1, 10000 do co() end end
END
command=("$scratch/yields" 1.5 "$jit")
[ "$mode" = host ] || command=("$build/luajit" "-j$jit" "$scratch/yields.lua")
LD_LIBRARY_PATH=$build "$record" --sample 1997 -q -o "$scratch/y.bin" -- "${command[@]}"
samples "$scratch/y.bin" | sed -n '/L:/,$p' >"$scratch/y.txt"
all=$(grep -c 'L:' "$scratch/y.txt" || true)
lost=$(grep -cE 'L:.*unknown|coroutine.*unknown| unknown(;K:[^ ]*)?$' "$scratch/y.txt" || true)
[ "$all" -gt 300 ] || fail "only $all samples with Lua of $(wc -l <"$scratch/y.txt")"
[ $((lost * 1000)) -le $((all + 2000)) ] || { grep unknown "$scratch/y.txt" | cut -d' ' -f2- | sort | uniq -c | sort -rn | head -n 5 >&2; fail "$lost of $all stacks are not known"; }
