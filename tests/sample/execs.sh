#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A process with a LuaJIT that executes another program with one is another process in the file: its C
# functions are found where that program has them. So is a child that does so at once.
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

cat >"$scratch/parent.lua" <<'END'
local ffi = require "ffi"
ffi.cdef "int fork(void); int waitpid(int pid, int *status, int options); int execv(const char *path, const char *const *argv);"
local path, code = arg[1], "local function child() while os.clock() < 0.15 do for i = 1, 1e4 do end end end child()"
local argv = ffi.new("const char *[5]", path, "-joff", "-e", code)
for _ = 1, 16 do
  local pid = ffi.C.fork()
  if pid == 0 then ffi.C.execv(path, argv) end
  ffi.C.waitpid(pid, nil, 0)
end
END
"$record" --sample 499 -q -o "$scratch/p.%p.bin" -- "$luajit" "$scratch/parent.lua" "$scratch/other"
found=0
for file in "$scratch"/p.*.bin; do
  samples "$file" >"$scratch/p.txt"
  ! grep >/dev/null ":child" "$scratch/p.txt" || found=$((found + 1))
done
[ $found -eq 16 ] || fail "$found of 16 children have Lua functions"
