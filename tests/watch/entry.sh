#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Values at the entry of a function, compiled or interpreted: arguments, upvalues, fields; conditions;
# the number of hits; tables down to a depth, with cycles; and the same values in the trace.
source "$(dirname "$0")/lib.sh"
program=entry.lua
plain=$("$luajit" "$program")

for options in "" -joff -Ohotloop=1,hotexit=1 -O0; do
  run=("$luajit" $options "$program")
  watch --watch charge --print args,upvalues,a.owner.name --when 'amount == 42 and a.id == 7' -- "${run[@]}"
  same "what the program prints ($options)" "$(printed)" "$plain"
  same "hits ($options)" "$(values | wc -l)" 20
  values | sed -n 1p | sed -E 's/0x[0-9a-f]+/ADDRESS/g' >"$scratch/first"
  for part in 'amount=42 ' ' ...=42 ...="line\n\x1b[31m" ' ' factor=2 ' ' a.owner.name="Ada"' 'entry.lua:10 charge: a={'; do
    grep -qF -- "$part" "$scratch/first" || fail "no '$part' ($options) in: $(cat "$scratch/first")"
  done
  watch --watch charge --print-depth 3 --print a --count 3 -- "${run[@]}"
  same "what the program prints, with --count ($options)" "$(printed)" "$plain"
  same "hits with --count ($options)" "$(values | wc -l)" 3
  for part in 'list={1, 2, 3}' 'owner={name="Ada"}' 'self=<cycle: 0x' 'id=7'; do
    values | grep -F -- "$part" >/dev/null || fail "no '$part' ($options) in: $(values)"
  done
  watch --watch charge --print-depth 0 --print a --when 'amount > 98.5 or not (amount >= 1)' -- "${run[@]}"
  same "hits of a comparison ($options)" "$(values | wc -l)" 40
  same "depth 0 ($options)" "$(values | sed -n 1p | sed -E 's/0x[0-9a-f]+/ADDRESS/')" "$program:10 charge: a=table: ADDRESS"
done

# Tables and functions are compared as such; what there is not equals nothing.
for condition in 'a == a.self' 'print == print and a ~= print' 'not (a.id.x == a.id.x)' 'not a.id.x'; do
  watch --watch charge --print amount --when "$condition" --count 5 -- "$luajit" "$program"
  same "hits of $condition" "$(values | wc -l)" 5
done
for condition in 'a == a.list' 'a ~= a.self' 'a.id.x' 'nosuch.y'; do
  watch --watch charge --print amount --when "$condition" -- "$luajit" "$program"
  same "hits of $condition" "$(values | wc -l)" 0
done

# In the trace, with the calls around them, and the text form says the same as the trace.
watch --watch charge --print amount --when 'amount == 1' -o "$scratch/trace.bin" -- "$luajit" "$program"
"$bin/luatrace-analyze" --dump "$scratch/trace.bin" >"$scratch/dump"
same "hits in the trace" "$(grep -c ' watch 1 hit ' "$scratch/dump")" 20
same "calls in the trace" "$("$bin/luatrace-analyze" --json "$scratch/trace.bin" | jq '[.functions[] | select(.name == "charge") | .calls] | add')" 2000
"$bin/luatrace-analyze" --dump "$scratch/dump" >"$scratch/again"
cmp "$scratch/dump" "$scratch/again" || fail "text, trace, text"
same "unknown records" "$("$bin/luatrace-analyze" --json "$scratch/trace.bin" | jq .trust.unknown)" 0
