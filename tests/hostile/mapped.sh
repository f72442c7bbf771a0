#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Programs that map their own LuaJIT once more, to read it or for any other reason, are recorded like others. Each way
# of mapping it, the library and the program with LuaJIT inside. Usage: mapped.sh BUILD direct|bpf
source "$(dirname "$0")/../attach/lib.sh"
via=$2
need_way "$via"
cat >"$scratch/map.lua" <<'END'
local ffi = require("ffi")
ffi.cdef [[int open(const char *, int); void *mmap(void *, size_t, int, int, int, long);]]
local file, protection, length, dir, work = arg[1], tonumber(arg[2]), tonumber(arg[3]), arg[4], arg[5]
local fd = ffi.C.open(file, 0)
assert(fd >= 0, file)
local p = ffi.C.mmap(nil, length, protection, 2, fd, 0) -- MAP_PRIVATE
assert(ffi.cast("intptr_t", p) ~= -1)
arg = {dir, work, "spin", arg[6]}
dofile(dir .. "/gate.lua")
END
cp "$here/../attach/gate.lua" "$scratch/gate.lua"
lib=$(readlink -f "$build/lib/libluajit-5.1.so.2")
static=$build/tests/attach/attach_static

protections='1 3 5' # to read; to write, too; to execute, too
# The kernel counts tracers in the first private writable mapping of the file, which may be the other one: then LuaJIT
# does not see that --via bpf traces it.
[ "$via" = direct ] || protections='1 5'

# maps FILE PROGRAM WORDS...: PROGRAM has its LuaJIT in FILE, and maps that
maps() {
  local file=$1 protection what
  for protection in $protections; do
    what="$(basename "$file"), mapped with protection $protection"
    gate "${@:2}" "$scratch/map.lua" "$file" $protection "$(stat -c %s "$file")" "$scratch" "$here/../attach/work.lua"
    ready "$number"
    record -p $target --via "$via"
    recording
    open_gate
    touch "$scratch/end"
    ended
    finish 0
    same "calls of fib ($what)" "$(calls "$scratch/trace.bin" | awk '$3 == 7 { print $1 }')" 21891
    same "Lua VMs ($what)" "$(json "$scratch/trace.bin" | jq '.trace.files[0].streams | length')" 1
  done
}
number= maps "$(readlink -f "$bin/luajit")" "$bin/luajit"
number=1 maps "$lib" "$build/tests/attach/attach_host" "$lib" --
number=1 maps "$static" "$static" --
