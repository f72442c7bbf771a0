#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A program has mapped a library whose file system (FUSE) no longer answers, and no page of it is in
# memory. It is recorded like any other; the recorder waits for that file system once, and handles
# -d. untraced: a command that has no other LuaJIT; the final message about the library does not
# wait for it either.
# Usage: fuse.sh BUILD direct|bpf|command|untraced
source "$(dirname "$0")/../attach/lib.sh"
via=$2
[ "$(id -u)" = 0 ] || skip "mounting a file system needs root"
[ -c /dev/fuse ] || skip "there is no /dev/fuse"
mkdir "$scratch/silent"
trap 'for p in "${started[@]}"; do kill -9 "$p" 2>/dev/null || true; done
      umount -l "$scratch/silent" 2>/dev/null || true; rm -rf --one-file-system "$scratch"' EXIT

library=$(readlink -f "$build/lib/libluajit-5.1.so.2") # any ELF file
"$build/tests/hostile/hostile_silent_fuse" "$scratch/silent" "$library" "$scratch/stop" \
  >"$scratch/server.out" 2>"$scratch/server.err" &
server=$!
started+=($server)
mounted() { grep -q ready "$scratch/server.out" || ! kill -0 $server 2>/dev/null; }
within 10 "the file system" mounted
grep -q ready "$scratch/server.out" || skip "$(cat "$scratch/server.err")"

cat >"$scratch/map.lua" <<'END'
local ffi = require("ffi")
ffi.cdef [[int open(const char *, int); void *mmap(void *, size_t, int, int, int, long); int close(int); int usleep(unsigned);]]
local dir = arg[1]
local fd = ffi.C.open(dir .. "/silent/libluajit.so", 0)
assert(fd >= 0)
assert(ffi.cast("intptr_t", ffi.C.mmap(nil, 65536, 5, 2, fd, 0)) ~= -1)
ffi.C.close(fd) -- later that would wait
io.open(dir .. "/stop", "w"):close()
local function leaf(x) return x + 1 end
local n = 0
for round = 1, tonumber(arg[2]) do
  for i = 1, 300 do n = leaf(n) end
  ffi.C.usleep(1000)
end
os.exit(0, false)
END
cat >"$scratch/map.py" <<'END'
import ctypes, os, sys, time
libc = ctypes.CDLL(None)
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
fd = os.open(sys.argv[1] + "/silent/libluajit.so", os.O_RDONLY)
libc.mmap(None, 65536, 5, 2, fd, 0)
os.close(fd)  # later that would wait
open(sys.argv[1] + "/stop", "w").close()
time.sleep(1)
END
program=("$bin/luajit" "$scratch/map.lua" "$scratch")
begin_s=$(awk '{ print int($1) }' /proc/uptime)
if [ "$via" = command ]; then
  "$bin/luatrace-record" -d 1 -o "$scratch/trace.bin" -- "${program[@]}" 3000 2>"$scratch/record.err" &
  recorder=$!
  started+=($recorder)
elif [ "$via" = untraced ]; then
  "$bin/luatrace-record" -o "$scratch/trace.bin" -- python3 "$scratch/map.py" "$scratch" 2>"$scratch/record.err" &
  recorder=$!
  started+=($recorder)
else
  begin "${program[@]}" 100000
  within 20 "the mapping" test -e "$scratch/stop"
  "$bin/luatrace-record" --via "$via" -p $target -d 1 -o "$scratch/trace.bin" 2>"$scratch/record.err" &
  recorder=$!
  started+=($recorder)
fi
gone() { [ -z "$(ps -o stat= -p $recorder | grep -v Z)" ]; }
within 30 "the recorder to end" gone
finish 0
if [ "$via" = untraced ]; then
  logged 'libluajit.so, which could not be read now' || fail "it says: $(cat "$scratch/record.err")"
  exit 0
fi
json "$scratch/trace.bin" | jq -e '.trust | .events > 0 and .anomalies == 0' >/dev/null ||
  fail "the trace: $("$bin/luatrace-analyze" "$scratch/trace.bin" | tail -2)"
echo "$(($(awk '{ print int($1) }' /proc/uptime) - begin_s)) s; the file system was asked $(grep -c silent "$scratch/server.out") times after it had stopped"
