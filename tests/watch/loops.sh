#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A line with a loop is reached as often as a line hook sees it: at its beginning and at each jump back.
source "$(dirname "$0")/lib.sh"
program=loops.lua
"$luajit" -joff "$program" hook >"$scratch/lines"
[ "$(wc -l <"$scratch/lines")" = 10 ] || fail "lines of the hook: $(cat "$scratch/lines")"
while read -r line count; do
  for options in "" -joff -Ohotloop=1,hotexit=1; do
    watch --watch "$program:$line" --print sum -- "$luajit" $options "$program"
    same "hits of line $line ($options)" "$(values | wc -l)" "$count"
  done
done <"$scratch/lines"
# The variables of the loop are there from the second turn on.
watch --watch "$program:11" --print i -- "$luajit" "$program"
same "the counter" "$(values | sed -n '2p;$p' | xargs)" "$program:11 loops: i=2 $program:11 loops: i=10"
