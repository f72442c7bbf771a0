#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A recorder that is killed while a forked child has its end of the socket: nothing waits for it.
#   orphan.sh COMPILER LUAJIT_DIR
source "$(dirname "$0")/../lib.sh"
cc=$1 luajit=$2
"$cc" -Wall -Wextra -Werror -I"$luajit/include/luajit-2.1" "$(dirname "$0")/orphan.c" -o "$scratch/host" \
  "$luajit/libluajit-5.1.so.2"
cat >"$scratch/kill" <<'END'
#!/bin/bash
for process in /proc/[0-9]*; do
  if tr '\0' ' ' <"$process/cmdline" 2>/dev/null | grep "^[^ ]*luatrace-record --inside .*-o $1 " >/dev/null; then
    kill -9 "${process#/proc/}" && exit 0
  fi
done
exit 1
END
chmod +x "$scratch/kill"
LD_LIBRARY_PATH=$luajit "$scratch/host" "$scratch/snapshot" "$scratch/t.bin" "$scratch/kill $scratch/t.bin" >"$scratch/out" 2>"$scratch/err" ||
  fail "$? $(cat "$scratch/out" "$scratch/err")"
same "what the host prints" "$(sed 's/ended unexpectedly.*/ended unexpectedly/' "$scratch/out")" "snapshot: complete
without a recorder: $scratch/snapshot: luatrace-record has ended unexpectedly
stop: the recording has ended, but there are no reports of it: luatrace-record has ended unexpectedly
in time"
