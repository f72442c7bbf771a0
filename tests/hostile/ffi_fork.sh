#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A program that forks by FFI while such calls have events: the call of fork() is open in the child,
# too, and returns in both. The result of a function without arguments is where the object was that
# is called.
#   ffi_fork.sh BUILD
source "$(dirname "$0")/../lib.sh"
build=$1
cat >"$scratch/program.lua" <<'END'
local ffi = require("ffi")
ffi.cdef("int fork(void); int getppid(void); int waitpid(int, int *, int); void _exit(int);")
local C = ffi.C
local function parent() return (C.getppid()) end
local function forks()
  local pid = C.fork()
  if pid == 0 then
    for i = 1, 10 do parent() end
    return C._exit(0)
  end
  C.waitpid(pid, nil, 0)
end
for i = 1, 5 do forks() end
END
"$build/bin/luatrace-record" -q --c-functions ffi -o "$scratch/trace.bin" -- \
  "$build/bin/luajit" -joff "$scratch/program.lua" || fail "the program"
analyze() { "$build/bin/luatrace-analyze" "$@" "$scratch/trace.bin"; }
[ "$(analyze --json | jq .trust.anomalies)" = 0 ] || fail "$(analyze | tail -n 3)"
analyze --dump=calls | grep -E 'C:(fork|getppid)' >"$scratch/calls"
count() { grep -cE "$1 C:$2\$" "$scratch/calls" || true; }
same "frames of fork" "$(count frame fork)" 5
same "returns of fork" "$(count return fork)" 10
same "calls of getppid" "$(count entry getppid)" 50
same "returns of getppid" "$(count return getppid)" 50
