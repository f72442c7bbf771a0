#!/bin/bash
# SPDX-License-Identifier: MIT
# A process that changes its title, and whose program's file is replaced, is one process in the
# trace, with its last title. A process that executes another program is two.
source "$(dirname "$0")/../lib.sh"
build=$1 here=$(cd "$(dirname "$0")" && pwd) include=$2 cc=$3
"$cc" -I"$include" "$here/title.c" -o "$scratch/title" -L"$build/lib" -lluajit-5.1
export LD_LIBRARY_PATH=$build/lib
processes() { "$build/bin/luatrace-analyze" --json "$scratch/t.bin" | jq -c '[.trace.files[0].processes[] | .cmdline[1:2]]'; }

"$build/bin/luatrace-record" -q -o "$scratch/t.bin" -- "$scratch/title" master "$scratch/title"
same "processes" "$(processes)" '[["wwwwww"]]'
same "streams" "$("$build/bin/luatrace-analyze" --json "$scratch/t.bin" | jq '.trace.files[0].streams | length')" 2

# The title program was deleted by its run.
"$cc" -I"$include" "$here/title.c" -o "$scratch/title" -L"$build/lib" -lluajit-5.1
"$build/bin/luatrace-record" -q -o "$scratch/t.bin" -- "$scratch/title" daemon
same "parents, in the order in which they ran Lua" "$("$build/bin/luatrace-analyze" --json "$scratch/t.bin" |
  jq -c '[.trace.files[0].processes[].parent]')" "[0,3,0]"

cat >"$scratch/exec.lua" <<'END'
local ffi = require "ffi"
ffi.cdef "int execv(const char *, const char *const *);"
local argv = ffi.new("const char *[3]", { arg[1], arg[2] })
ffi.C.execv(arg[1], argv)
END
echo 'local function f() end f()' >"$scratch/other.lua"
"$build/bin/luatrace-record" -q -o "$scratch/t.bin" -- "$build/bin/luajit" "$scratch/exec.lua" "$build/bin/luajit" "$scratch/other.lua"
same "processes of an exec" "$(processes)" "[[\"$scratch/exec.lua\"],[\"$scratch/other.lua\"]]"
