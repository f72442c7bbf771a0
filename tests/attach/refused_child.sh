#!/bin/bash
# SPDX-License-Identifier: MIT
#
# --children, and a child that another recorder has: reported once, and the child is recorded when
# the other recorder has detached.
source "$(dirname "$0")/lib.sh"
begin bash -c 'for n in 1 2; do
  while [ ! -e "$1/start$n" ]; do sleep 0.02; done
  "$2" -e "while true do os.clock() end" & echo $! >"$1/child$n"
done; wait' parent "$scratch" "$bin/luajit"
child_is_there() { [ -s "$scratch/child$1" ] && child=$(cat "$scratch/child$1") && started+=($child); }
touch "$scratch/start1"
within 10 "the first child" child_is_there 1
first=$child
"$bin/luatrace-record" -v -o "$scratch/first.bin" -p "$first" 2>"$scratch/first.err" &
other=$!
started+=($other)
within 20 "the first recorder" grep -q 'first event' "$scratch/first.err"

record -p $target --children
refused="^luatrace-record: process $first .*is being recorded by another"
within 20 "the refusal" logged "$refused"
touch "$scratch/start2"
within 10 "the second child" child_is_there 2
within 20 "the second child's recording" logged "process $child: first event"
same "refusals that were reported" "$(grep -cE "$refused" "$scratch/record.err")" 1
kill -INT $other
within 20 "the first child's recording" logged "process $first: first event"
kill -INT $recorder
finish 0
kill $first $child $target
