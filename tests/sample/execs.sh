#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A process with a LuaJIT that executes another program with one is another process in the file: its C
# functions are found where that program has them.
#
#   execs.sh RECORD LUAJIT
source "$(dirname "$0")/../lib.sh"
source "$(dirname "$0")/lib.sh"
record=$1 luajit=$2
needs_sampling "$record"

cp "$luajit" "$scratch/other"
cat >"$scratch/busy.lua" <<'END'
local ffi = require "ffi"
ffi.cdef "int execv(const char *path, const char *const *argv);"
local function busy() while os.clock() < 0.5 * (4 - arg[1]) do end end
busy()
if arg[1] == "0" then return end
local next, path = tostring(arg[1] - 1), arg[2]
ffi.C.execv(path, ffi.new("const char *[5]", path, arg[0], next, path))
END

"$record" --sample 499 -q -o "$scratch/e.bin" -- "$luajit" "$scratch/busy.lua" 3 "$scratch/other"
samples "$scratch/e.bin" >"$scratch/e.txt"
first=$(grep -c 'N:[^;]*/luajit;coroutine:.*:busy' "$scratch/e.txt" || true)
other=$(grep -c "N:$scratch/other;coroutine:.*:busy" "$scratch/e.txt" || true)
busy=$(grep -c ':busy' "$scratch/e.txt" || true)
[ "$first" -gt 50 ] && [ "$other" -gt 200 ] || fail "$first and $other samples"
[ $((first + other)) -gt $((busy * 9 / 10)) ] || fail "of $busy samples $first and $other have C functions"
