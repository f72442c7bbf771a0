#!/bin/bash
# SPDX-License-Identifier: MIT
#
# All workers of a process are watched, each with its number of hits; a child that is forked meanwhile,
# too; a command's children in the same way.
source "$(dirname "$0")/lib.sh"
program=workers.lua
gate "$luajit" "$program" "$scratch"
ready
: >"$scratch/record.out"
"$bin/luatrace-record" --watch handle --print worker,n --count 3 --children -p $target >"$scratch/record.out" 2>"$scratch/record.err" &
recorder=$!
all_three() { [ "$(grep -c ' handle: ' "$scratch/record.out")" -ge 9 ]; }
within 30 "nine values" all_three
kill -INT $recorder
wait $recorder || true
for worker in 0 1 2; do
  same "hits of worker $worker" "$(grep -c "] .*handle: worker=$worker n=" "$scratch/record.out")" 3
done
same "processes" "$(sed -nE 's/.*\[([0-9]+)\].*/\1/p' "$scratch/record.out" | sort -u | wc -l)" 3
touch "$scratch/end"

rm -f "$scratch"/{end,ready}
(within 30 "the command's program" test -e "$scratch/ready" && sleep 0.3 && touch "$scratch/end") &
watch --watch handle --print worker --count 2 -- "$luajit" "$program" "$scratch"
for worker in 0 1 2; do
  same "hits of a command's worker $worker" "$(grep -c "handle: worker=$worker" "$scratch/record.out")" 2
done
