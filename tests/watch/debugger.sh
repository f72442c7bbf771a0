#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The verbs of R2's debugger, each done by --watch without stopping the program. Usage:
# debugger.sh BUILD break|step|print|continue
source "$(dirname "$0")/lib.sh"
program=debugger.lua
plain=$("$luajit" "$program")
at() { values | sed "s,^$program:,,"; }
case $2 in
  break) # at FILE:LINE, and at a function; only if a condition holds
    watch --watch debugger.lua:7 --print base --when 'base == 8' -- "$luajit" "$program"
    same "at the line" "$(at)" "7 price: base=8"
    watch --watch price --print item.cost --when 'item.cost >= 9' -- "$luajit" "$program"
    same "at the function" "$(at)" "4 price: item.cost=9
4 price: item.cost=10"
    ;;
  step) # each line of a function, in the order in which the program comes to them
    watch $(printf -- '--watch debugger.lua:%s ' 5 6 7 9) --print base --when 'item.cost >= 3 and item.cost <= 4' -- "$luajit" "$program"
    same "the way through the function" "$(at | cut -d' ' -f1 | tr '\n' ' ')" "5 6 9 5 6 7 9 "
    ;;
  print) # a local variable, an upvalue, a global variable, the traceback
    watch --watch debugger.lua:6 --print base,rate,limit,traceback --count 1 -- "$luajit" "$program"
    same "the values" "$(at)" "6 price: base=1 rate=0.5 limit=3"
    grep -qx "    $program:13  main chunk" "$scratch/record.out" || fail "no traceback: $(cat "$scratch/record.out")"
    ;;
  continue) # the program never stops, and afterwards is not watched
    watch --watch price --count 2 -v -- "$luajit" "$program"
    same "what was printed before it went on alone" "$(at | wc -l)" 2
    same "what the program prints" "$(printed)" "$plain"
    ;;
esac
same "the program's result" "$(printed)" "$plain"
