#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A worker of nginx records itself: one that has given up root, and so cannot be traced from outside
# by its own user. nginx notices no child.
#   nginx.sh SOURCE BUILD
source "$(dirname "$0")/../lib.sh"
source=$1 build=$2
source "$source/tests/nginx/nginx.sh"
user=
if [ "$(id -u)" -eq 0 ]; then
  user='user nobody nogroup;'
  chmod 755 .
  setpriv --reuid nobody --clear-groups test -x "$build/bin/luatrace-record" || user='user root;'
fi
export TMPDIR=/tmp
start_nginx "$source/tests/module/nginx.conf" "$user" work
get() { curl -sS -m 30 "http://127.0.0.1:$port/$1"; }
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
