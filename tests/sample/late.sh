#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Samples that the recorder takes late, after it had no processor: the functions in them, which are all new to it, are
# known as far as it has the time to read, however long the rest of its work takes.
#
#   late.sh RECORD LUAJIT
source "$(dirname "$0")/../lib.sh"
source "$(dirname "$0")/lib.sh"
record=$1 luajit=$2
needs_sampling "$record"

cat >"$scratch/many.lua" <<'END'
local last = os.time() + 100 -- whatever becomes of the test
local function busy(seconds)
  local start = os.clock()
  while os.clock() < start + seconds and os.time() < last do end
end
local functions = {}
for i = 1, 200 do functions[i] = load("local busy = ... return function() busy(0.01) end", "=many" .. i)(busy) end
while os.time() < last do for i = 1, #functions do functions[i]() end end
END
"$luajit" -joff "$scratch/many.lua" &
pid=$!
runs $pid "$luajit"
works $pid 10
: >"$scratch/late.err"
nice -n 10 "$record" --sample 9973 --ring-size 256M -v -o "$scratch/late.bin" -p $pid 2>"$scratch/late.err" &
recorder=$!
within 30 "the recording" grep -q 'is being recorded' "$scratch/late.err"
kill -STOP $recorder
works $pid 200
for i in 1 2 3 4; do sh -c 'while :; do :; done' & done # so that its work takes much longer than its CPU time
kill -CONT $recorder
works $pid 100
kill -INT $recorder
wait $recorder || fail "status $?: $(cat "$scratch/late.err")"
samples "$scratch/late.bin" >"$scratch/late.txt"
found=$(grep -oE 'L:=?many[0-9]+:' "$scratch/late.txt" | sort -u | wc -l)
all=$(wc -l <"$scratch/late.txt") unknown=$(grep -c unknown "$scratch/late.txt" || true)
echo "$found functions, $unknown of $all stacks have unknown ones"
[ "$unknown" -lt $((all / 50)) ] || fail "$unknown of $all stacks have unknown functions"
