#!/bin/bash
# SPDX-License-Identifier: MIT
#
# --times: the calls are the same in each mode; compiled code has segments, if that is asked for or,
# with auto, if its events would take longer than itself.
#
#   times.sh BUILD
source "$(dirname "$0")/lib.sh"
[ "$(uname -m)" = x86_64 ] || skip "segments are recorded on x86-64 only"

# How many of the 40,000 events of the two functions are events of their own: "none", "half" or "all".
own_events() {
  local n
  n=$("$bin/luatrace-analyze" --dump "$1" | awk '
    $1 == "func" && / name="dense"| chunk="=sparse"/ { sub(/.*:/, "", $2); ours[$2] = 1 }
    $3 == "entry" && $4 in ours { n++ } END { print n + 0 }')
  if [ "$n" -lt 2000 ]; then echo none
  elif [ "$n" -lt 22000 ]; then echo half
  else echo all
  fi
}
counted() { json "$1" | jq -c '[.functions[] | select(.name == "dense" or .chunk == "=sparse") | .calls] | sort'; }
check() {
  "$bin/luatrace-analyze" --dump "$scratch/trace.bin" | grep '^clock tsc' >/dev/null || skip "segments need the clock TSC"
  same "calls ($1)" "$(counted "$scratch/trace.bin")" "[20000,20000]"
  same "their events ($1)" "$(own_events "$scratch/trace.bin")" "$2"
  no_anomalies "$scratch/trace.bin"
}

while read -r times expected; do
  touch "$scratch/go" "$scratch/end"
  "$bin/luatrace-record" -q --force -o "$scratch/trace.bin" --times "$times" -- \
    "$bin/luajit" "$here/gate.lua" "$scratch" "$here/times.lua"
  check "$times, of a command" "$expected"
  gate "$bin/luajit" "$here/gate.lua" "$scratch" "$here/times.lua"
  ready
  record --force --times "$times" -p $target
  recording
  open_gate
  touch "$scratch/end"
  ended
  finish 0
  check "$times, attached" "$expected"
done <<'END'
events all
auto half
segments none
END
