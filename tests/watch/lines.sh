#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Values at lines inside functions: each time that the line is reached, in compiled loops and in
# coroutines; several places at once; tracebacks.
source "$(dirname "$0")/lib.sh"
program=lines.lua
plain=$("$luajit" "$program")

for options in "" -joff -Ohotloop=1,hotexit=1 -O0; do
  run=("$luajit" $options "$program")
  watch --block --watch lines.lua:6 --print n,i,square,sum -- "${run[@]}"
  same "what the program prints ($options)" "$(printed)" "$plain"
  same "hits ($options)" "$(values | wc -l)" 6000
  same "the fifth ($options)" "$(values | sed -n 5p)" "$program:6 work: n=20 i=5 square=25 sum=30"
  same "different values ($options)" "$(values | sort -u | wc -l)" 20
  watch --watch lines.lua:17 --watch unused --watch lines.lua:22 --print locals --when 'i == nil or i >= 49' -- "${run[@]}"
  same "what the program prints, two places ($options)" "$(printed)" "$plain"
  same "hits in a coroutine ($options)" "$(values | grep -c ':17 ')" 2
  same "the last ($options)" "$(values | grep ':17 ' | tail -1)" "$program:17 ?: i=50"
  grep -q -e '--watch unused: no Lua function of this name was called' "$scratch/record.err" || fail "messages: $(cat "$scratch/record.err")"
done

watch --watch lines.lua:8 --print sum,traceback --count 1 -- "$luajit" "$program"
sed -E 's/^[0-9]{2}:[0-9:.]+ //' "$scratch/record.out" | sort >"$scratch/a"
printf '%s\n' "$program:8 work: sum=2870" "    $program:8  work" "    $program:24  main chunk" "    [C]  ?" "$plain" | sort >"$scratch/b"
cmp "$scratch/a" "$scratch/b" || fail "traceback: $(cat "$scratch/record.out")"

# A path matches the end of a chunk's name.
watch --watch watch/lines.lua:8 --print sum -- "$luajit" "$PWD/lines.lua"
same "hits in a path" "$(values | grep -c 'lines.lua:8 work: sum=2870')" 300

# The line of a definition is the function's entry.
watch --watch lines.lua:2 --print args -- "$luajit" "$program"
same "hits of a definition" "$(values | grep -cx "$program:2 work: n=20")" 300
