#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A worker of nginx records itself: one that has given up root, and so cannot be traced from outside
# by its own user. nginx notices no child.
#   nginx.sh SOURCE BUILD
source "$(dirname "$0")/../lib.sh"
source=$1 build=$2
for program in curl apt-get; do
  command -v $program >/dev/null || skip "$program is not installed (scripts/deps --test)"
done
root=$build/nginx/root
"$source/tests/nginx/unpack" "$root" || skip "Debian's nginx cannot be downloaded"
cd "$scratch"
mkdir temporary
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
user=
if [ "$(id -u)" -eq 0 ]; then
  user='user nobody nogroup;'
  chmod 755 .
  setpriv --reuid nobody --clear-groups test -x "$build/bin/luatrace-record" || user='user root;'
fi
sed "s|ROOT|$root|; s|PORT|$port|; s|^USER|$user|" "$source/tests/module/nginx.conf" >nginx.conf
export LD_LIBRARY_PATH=$build/lib:$root/usr/lib/x86_64-linux-gnu:$root/lib/x86_64-linux-gnu
export LUA_PATH="$root/usr/share/lua/5.1/?.lua;;" TMPDIR=/tmp
"$root/usr/sbin/nginx" -p "$scratch" -c nginx.conf -e error.log -g 'daemon off;' &
started+=($!)
master=$!
get() { curl -sS -m 30 "http://127.0.0.1:$port/$1"; }
answers() { get work >/dev/null 2>&1; }
within 20 nginx answers
started+=($(pgrep -P $master))

same start "$(get start)" true
for i in 1 2 3 4 5; do same work "$(get work)" handled; done
same report "$(get report | sort)" "[section] work 5
handle 5"
same "children of the worker" "$(pgrep -c -P "$(pgrep -P $master)" || true)" 0
same stop "$(get stop)" true
same "report after the stop" "$(get report | sort)" "[section] work 5
handle 5"
same "second start" "$(get start)" true
same "second stop" "$(get stop)" true
! grep -E '\[(error|alert|crit)\]|unknown process|SIGCHLD|signal 17' error.log || fail "nginx has noticed something"
