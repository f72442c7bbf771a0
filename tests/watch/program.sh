#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A program with hooks of all kinds, functions that are loaded again and again, jit.off and errors
# prints the same while its lines are watched, and no hit is missed.
source "$(dirname "$0")/lib.sh"
program=program.lua
[ -d "$build/luajit" ] || skip "no LuaJITs"
for luajit in "$build"/luajit/*/luajit; do
  case $luajit in *-upstream/*) continue ;; esac
  flavour=$(basename "$(dirname "$luajit")")
  for options in "" -Ohotloop=1,hotexit=1; do
    "$luajit" $options "$program" >"$scratch/plain"
    watch --block --watch program.lua:6 --watch again.lua:2 --watch off.lua:3 --watch step --print a,x -- "$luajit" $options "$program"
    printed | cmp - "$scratch/plain" || fail "$flavour $options prints: $(printed)"
    # Five masks, the compiled run, nine calls before the error, each with 20 turns.
    same "hits of line 6 ($flavour $options)" "$(values | grep -c 'program.lua:6 ')" $(((5 * 30 + 500 + 9) * 20))
    same "hits of step ($flavour $options)" "$(values | grep -c 'program.lua:3 ')" $((5 * 30 + 500 + 9))
    same "hits of again.lua ($flavour $options)" "$(values | grep -c '^again.lua:2 ')" 300
    same "hits of off.lua ($flavour $options)" "$(values | grep -c '^off.lua:3 ')" 5000
    ! grep 'more than' "$scratch/record.err" || fail "the table was full"
  done
done
