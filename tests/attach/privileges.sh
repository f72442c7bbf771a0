#!/bin/bash
# SPDX-License-Identifier: MIT
#
# root records a command whose processes give up root, as nginx's workers do: they must be able to
# reach the recorder, and nobody else.
source "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] || skip "only root can give up root's rights"
chmod 711 "$scratch"
export XDG_RUNTIME_DIR=$scratch
cat >"$scratch/drop.lua" <<'END'
local ffi = require("ffi")
ffi.cdef("int fork(void); int wait(int *); int setuid(unsigned); int setgid(unsigned); void _exit(int);" ..
         "unsigned geteuid(void);")
local work = dofile(arg[1])
for i = 1, 2 do
  if ffi.C.fork() == 0 then
    assert(ffi.C.setgid(65534) == 0 and ffi.C.setuid(65534) == 0)
    work()
    ffi.C._exit(ffi.C.geteuid() == 65534 and 0 or 1)
  end
end
ffi.C.wait(nil)
ffi.C.wait(nil)
END
"$bin/luatrace-record" -o "$scratch/trace.bin" -- "$bin/luajit" "$scratch/drop.lua" "$here/work.lua" 2>"$scratch/record.err"
same "calls of fib" "$(calls "$scratch/trace.bin" | awk '$3 == 7 { print $1 }')" 43782
no_anomalies "$scratch/trace.bin"
! grep -q refused "$scratch/record.err" || fail "a process was refused: $(cat "$scratch/record.err")"

# The socket's directory cannot be listed by others.
begin "$bin/luatrace-record" -q -o "$scratch/trace.bin" -- sh -c 'echo $$ >"$1"; exec sleep 300' sh "$scratch/command"
socket_exists() { directory=$(ls -d "$scratch"/luatrace-*); }
within 10 "the socket" socket_exists 2>/dev/null
within 10 "the command" test -s "$scratch/command"
command=$(cat "$scratch/command")
started+=($command)
same "its mode" "$(stat -c %a "$directory")" 711
! setpriv --reuid 65534 --clear-groups ls "$directory" 2>/dev/null || fail "others can list $directory"
[ "$(ls "$directory" | wc -c)" -ge 33 ] || fail "the socket's name can be guessed"
kill -INT $target
kill $command
wait $target || true
[ ! -e "$directory" ] || fail "the socket's directory is left behind"
