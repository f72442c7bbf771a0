#!/bin/bash
# SPDX-License-Identifier: MIT
# lua-calls.bt on a running process: complete stacks from the first event, no anomaly at either end,
# twice; the program continues undisturbed and the semaphore is 0 again.
. "$(dirname "$0")/lib.sh"

"$luajit" "$here/programs/server.lua" "$scratch/stop" >"$scratch/printed" &
server=$!
trap 'kill $server 2>/dev/null || true; rm -rf "$scratch"' EXIT

for turn in 1 2 3; do
  bt_file=$scratch/calls.$turn
  attach $server -o "$bt_file" "$probes/lua-calls.bt"
  for try in $(seq 100); do # until there is something to see
    [ "$(grep -c '^y' "$bt_file")" -ge 5 ] && break
    sleep 0.1
  done
  leave
  # What bpftrace had not read when it detached is not a loss: the trace ends there.
  "$analyze" --json "$bt_file" >"$scratch/json" 2>"$scratch/err"
  jq -e '.trust.anomalies == 0' "$scratch/json" >"$scratch/ok" ||
    fail "attach $turn: $(jq -c .trust "$scratch/json") $(cat "$scratch/err")"
  "$analyze" --dump=calls "$bt_file" >"$scratch/dump"
  # Whichever of the two runs at that moment is reported first, the other one when it next runs.
  sed -n 2p "$scratch/dump" | grep -q 'stack activate$' || fail "no report: $(head -5 "$scratch/dump")"
  for frame in 'D1 frame server.lua:0' 'D7 frame server.lua:9' 'D1 frame server.lua:5'; do
    grep -q "$frame$" "$scratch/dump" || fail "no '$frame' in: $(head -20 "$scratch/dump")"
  done
  grep -q 'stop detach' "$scratch/dump" || fail "the end is missing: $(tail -3 "$scratch/dump")"
  calls=$("$analyze" --json "$bt_file" | jq '.functions[] | select(.name == "leaf") | .calls')
  yields=$(grep -c 'suspend yield' "$scratch/dump")
  [ "$calls" -ge $((20 * (yields - 1))) ] && [ "$calls" -le $((20 * (yields + 2))) ] ||
    fail "$calls calls of leaf, $yields yields"
done

touch "$scratch/stop"
wait $server || fail "the program ended with $?"
same "what it prints" "$(cat "$scratch/printed")" 1
