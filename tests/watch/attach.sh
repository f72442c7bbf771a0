#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Watching a running process whose code is compiled already; afterwards it runs compiled code as
# before, and nothing of ours is in it. Also a Lua VM whose thread has a small C stack.
source "$(dirname "$0")/lib.sh"
export LUA_PATH="$build/luajit/$(basename "$(ls -d "$build"/luajit/openresty-* | head -1)")/src/?.lua;;"
gate "$luajit" "attach.lua" "$scratch"
ready
for place in inner attach.lua:7 attach.lua:13 outer; do
  watch --watch $place --print 'locals,round,i' --when 'i == nil or i == 500' --count 5 -p $target
  same "values at $place" "$(values | wc -l)" 5
  all_off $target || fail "something was left in the process after $place"
done
# The function that was compiled is entered from compiled code, too.
watch --watch inner --print i,v --count 2000 -p $target
same "arguments one after the other" "$(values | awk -F= '{ i = $2 + 0; if (NR > 1 && i != last % 1000 + 1) n++; last = i } END { print n + 0 }')" 0
touch "$scratch/end"
within 30 "the program to end" test -s "$scratch/target.out"
same "wrong results, compiled, given up" "$(cat "$scratch/target.out")" "$(printf '0\ttrue\t0')"

# With a flight recorder nobody reads the file: memory stays within its limit, and the snapshot has values.
gate "$luajit" "attach.lua" "$scratch"
ready
watch --watch inner --print i --flight 1M -o "$scratch/flight.bin" -d 0.5 -p $target
"$bin/luatrace-analyze" --dump "$scratch/flight.bin" | grep ' watch 1 hit ' >/dev/null || fail "no values in the snapshot"
touch "$scratch/end"
within 30 "the program to end" test -s "$scratch/target.out"

for kb in 16 32; do
  rm -f "$scratch"/{ready,end}
  begin "$build/tests/hostile/hostile_small_stack" $kb "$scratch"
  ready
  watch --watch leaf --watch '*program*' --print args,locals,upvalues,traceback --print-depth 4 -d 0.2 -p $target
  values | grep ' leaf: x=' >/dev/null || fail "a stack of $kb KB: no values; $(cat "$scratch/record.err")"
  touch "$scratch/end"
  within 30 "the thread to end" test -s "$scratch/target.out"
  same "what it computed ($kb KB)" "$(cat "$scratch/target.out")" "some 0"
done
