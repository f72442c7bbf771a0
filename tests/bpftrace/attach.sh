#!/bin/bash
# SPDX-License-Identifier: MIT
# lua-calls.bt on a running process, four times: complete stacks from the first event, no anomaly at
# either end; the program continues undisturbed. In the fourth time a probe is attached for long
# before bpftrace gets its hits: the VM's report must come after that.
. "$(dirname "$0")/lib.sh"

"$luajit" "$here/programs/server.lua" "$scratch/stop" >"$scratch/printed" &
server=$!

has_yields() { [ "$(grep -c '^y' "$bt_file")" -ge 5 ]; }
for turn in 1 2 3 slowly; do
  bt_file=$scratch/calls.$turn
  [ $turn = slowly ] && slowed=(strace -f -o /dev/null -e trace=ioctl -e inject=ioctl:delay_enter=30000)
  attach $server -o "$bt_file" "$probes/lua-calls.bt"
  within 120 "something to see" has_yields
  leave
  # What bpftrace had not read when it detached is not a loss: the trace ends there.
  "$analyze" --json "$bt_file" >"$scratch/json" 2>"$scratch/err"
  jq -e '.trust.anomalies == 0' "$scratch/json" >"$scratch/ok" ||
    fail "attach $turn: $(jq -c .trust "$scratch/json") $(cat "$scratch/err")
$("$analyze" --dump=calls "$bt_file" | grep -B 4 -A 12 ' stack ')"
  "$analyze" --dump=calls "$bt_file" >"$scratch/dump"
  # The coroutine that runs at that moment is reported first (as resumed if it is just resuming
  # another one), the other one when it next runs.
  sed -n 2p "$scratch/dump" | grep -E 'stack (activate|resumed)$' >/dev/null || fail "no report: $(head -5 "$scratch/dump")"
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
