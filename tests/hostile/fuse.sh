#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A program has mapped a library whose file system (FUSE) no longer answers, and no page of it is in
# memory. It is recorded like any other; the recorder waits for that file system once, and handles
# -d. untraced: a command that has no other LuaJIT; the final message about the library does not
# wait for it either. sent, unread: a process of the command sends such a file instead of a ring; or it
# leaves one with unwritten pages on a connection, which the recorder closes.
# Usage: fuse.sh BUILD direct|bpf|command|untraced|sent|unread
source "$(dirname "$0")/../attach/lib.sh"
via=$2
[ "$(id -u)" = 0 ] || skip "mounting a file system needs root"
[ -c /dev/fuse ] || skip "there is no /dev/fuse"
mkdir "$scratch/silent"
trap 'end_started
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
# unread: the file is sent as the content of a socket, so that nobody else has it when it is closed. Closing
# a descriptor would write the file, so it is written by io_uring, which needs none. The recorder must be the
# last to hold the connection, so it is stopped until this process has closed its own descriptor.
cat >"$scratch/send.py" <<'END'
import ctypes, mmap, os, signal, socket, struct, sys, time
folder, how = sys.argv[1:]
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
def call(number, *words):
    n = libc.syscall(number, *[w if isinstance(w, ctypes.Array) else ctypes.c_long(w) for w in words])
    if n < 0:
        open(folder + "/unable", "w").write("no io_uring: " + os.strerror(ctypes.get_errno()))
        sys.exit(1)
    return n
def write_without(file):  # after a call of this it is closed
    info = (ctypes.c_uint32 * 30)()
    ring = call(425, 1, info)
    tail, array = info[11], info[16]
    queue = mmap.mmap(ring, array + 4)
    entry = mmap.mmap(ring, 64, offset=0x10000000)
    text = ctypes.create_string_buffer(b"unwritten")
    call(427, ring, 2, (ctypes.c_int32 * 1)(file), 1)  # registers the file
    os.close(file)
    entry[:40] = struct.pack("=BBHiQQI12x", 23, 1, 0, 0, 0, ctypes.addressof(text), 9)
    queue[array:array + 4] = struct.pack("I", 0)
    queue[tail:tail + 4] = struct.pack("I", 1)
    call(426, ring, 1, 1, 1, 0, 0)
    call(427, ring, 3, 0, 0)
file = os.open(folder + "/silent/libluajit.so", os.O_RDWR)
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect(os.environ["LUATRACE_SOCKET"])
hello, sent = struct.pack("QIi", 0x314f4c4c4854554c, 1, os.getpid()), file
if how == "unread":
    ours, theirs = socket.socketpair()
    socket.send_fds(ours, [b"x"], [file])
    write_without(file)
    ours.close()
    hello, sent = b"x", theirs.fileno()
recorder = struct.unpack("3i", s.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
os.kill(recorder, signal.SIGSTOP)
while open(f"/proc/{recorder}/stat").read().rpartition(")")[2].split()[0] != "T":
    time.sleep(0.01)
open(folder + "/stop", "w").close()
socket.send_fds(s, [hello], [sent])
if how == "unread":
    theirs.close()
os.kill(recorder, signal.SIGCONT)
open(folder + "/sent", "w").close()
while os.path.exists(folder + "/stop"):  # on some kernels the end of this process would wait
    time.sleep(0.05)
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
elif [ "$via" = sent ] || [ "$via" = unread ]; then
  echo 'local function f(x) return x end for i = 1, 1e5 do f(i) end' >"$scratch/fine.lua"
  "$bin/luatrace-record" -o "$scratch/trace.bin" -- bash -c 'python3 "$0/send.py" "$0" "$1" &
    until [ -e "$0/sent" ] || ! kill -0 $!; do sleep 0.05; done
    "$2" "$0/fine.lua"; "$2" "$0/fine.lua"; echo done >"$0/done"' \
    "$scratch" "$via" "$bin/luajit" 2>"$scratch/record.err" &
  recorder=$!
  started+=($recorder)
  within 60 "the command" test -e "$scratch/done"
  [ ! -e "$scratch/unable" ] || skip "$(cat "$scratch/unable")"
  within 20 "the file system to be asked" grep -q silent "$scratch/server.out"
  rm "$scratch/stop"
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
if [ "$via" = sent ] || [ "$via" = unread ]; then
  logged "its ring is not usable: it is not a memfd|it did not send a hello" || fail "it says: $(cat "$scratch/record.err")"
  json "$scratch/trace.bin" | jq -e '.trust.events > 400000' >/dev/null || fail "not both Lua VMs were recorded"
fi
json "$scratch/trace.bin" | jq -e '.trust | .events > 0 and .anomalies == 0' >/dev/null ||
  fail "the trace: $("$bin/luatrace-analyze" "$scratch/trace.bin" | tail -2)"
echo "$(($(awk '{ print int($1) }' /proc/uptime) - begin_s)) s; the file system was asked $(grep -c silent "$scratch/server.out") times after it had stopped"
