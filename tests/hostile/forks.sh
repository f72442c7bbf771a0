#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Forks: a child's recording never uses its parent's ring, and a child that compiled code forks
# loses nothing.
source "$(dirname "$0")/../attach/lib.sh"
programs=$(cd "$(dirname "$0")/programs" && pwd)
leaf_calls() { json "$1" | jq '[.functions[] | select(.name == "leaf") | .calls] | add'; }
streams_of() { "$bin/luatrace-analyze" --dump "$1" | grep -c '^stream '; }

# 40 children, made in a compiled loop: 11 calls in each child, one in the parent for each.
for how in run attach; do
  if [ $how = run ]; then
    record -- "$bin/luajit" -Ohotloop=2 -Ohotexit=2 "$programs/forks.lua" "$scratch" 40
  else
    gate "$bin/luajit" -Ohotloop=2 -Ohotexit=2 "$programs/forks.lua" "$scratch" 40
    ready
    record -p $target --children
    recording
  fi
  open_gate
  finish 0
  ! logged 'LOST' || fail "lost ($how): $(grep LOST "$scratch/record.err")"
  same "calls ($how)" "$(leaf_calls "$scratch/trace.bin")" 480
  no_anomalies "$scratch/trace.bin"
  rm -f "$scratch/go"
done

# A child that does not know that it is one: the C library's fork() was not called, so nothing ran
# in the child, and all of its parent's memory and descriptors are there. --children sees it.
[ "$(uname -m)" = x86_64 ] || skip "the system call's number is that of x86-64"
both_found() { [ "$(grep -c 'is being recorded' "$scratch/record.err")" -ge 2 ]; }
# unaware PID WHAT: a program that has begun in unaware.lua
unaware() {
  ready
  record -p $1 --children
  recording
  open_gate
  within 20 "the child" test -s "$scratch/child"
  within 20 "the child to be found" both_found
  passes 10
  touch "$scratch/end"
  finish 0
  same "streams ($2)" "$(streams_of "$scratch/trace.bin")" 1
  no_anomalies "$scratch/trace.bin"
}
gate "$bin/luajit" "$programs/unaware.lua" "$scratch" 57
unaware $target "forked by the system call"
ended

# The same where both have process id 1, each in a namespace of its own.
[ "$(id -u)" = 0 ] && unshare -pf true 2>/dev/null || { echo "not root: pid namespaces were left out"; exit 0; }
gate unshare -pf "$bin/luajit" "$programs/unaware.lua" "$scratch" namespace
ready
inner=$(cat "/proc/$target/task/$target/children")
unaware $inner "both are process 1"
ended
