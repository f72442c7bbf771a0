#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A line with a loop, or with its beginning, is reached as often as a line hook sees it: at its beginning and at each jump back.
source "$(dirname "$0")/lib.sh"
program=loops.lua
"$luajit" -joff "$program" hook >"$scratch/lines"
[ "$(wc -l <"$scratch/lines")" = 19 ] || fail "lines of the hook: $(cat "$scratch/lines")"
while read -r line count; do
  for options in "" -joff -Ohotloop=1,hotexit=1; do
    watch --watch "$program:$line" --print sum -- "$luajit" $options "$program"
    same "hits of line $line ($options)" "$(values | grep -vc 'main chunk')" "$count"
  done
  watch --watch "$program:$line" --print sum -- "$luajit" "$program" count
  same "hits of line $line with a count hook" "$(values | grep -vc 'main chunk')" "$count"
done <"$scratch/lines"
# The variables of the loop are there from the second turn on.
watch --watch "$program:13" --print i -- "$luajit" "$program"
same "the counter" "$(values | sed -n '2p;$p' | xargs)" "$program:13 loops: i=2 $program:13 loops: i=10"
