#!/bin/bash
# SPDX-License-Identifier: MIT
#
# luatrace-record --cpu: CPU time is what the program's own clock of it says, whatever other threads have the
# processor meanwhile. The second argument: command, or --via.
source "$(dirname "$0")/lib.sh"
way=$2 via=$2
[ "$way" = command ] || need_way "$way"
[ "$(id -u)" = 0 ] || [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ] || skip "kernel.perf_event_paranoid is above 2"
of() { jq -r "[.functions[] | select(.name == \"$1\") | .$2][0] // 0" "$scratch/report.json"; }
between() { [ "$(jq -n "$2 <= $3 and $3 <= $4")" = true ] || fail "$1: $3 is not from $2 to $4"; }

# A competitor on the only processor that the program may use, in turns of 40 ms, which nothing cuts where that is
# allowed: then what the switches themselves take is little. It ends by itself, whatever becomes of the test.
processor=$(taskset -pc $$ | sed 's/.*[ ,-]//')
first=(chrt --fifo 1)
"${first[@]}" true 2>/dev/null || first=()
begin taskset -c "$processor" "${first[@]}" bash -c 'while [ $SECONDS -lt 60 ]; do
  end=$((${EPOCHREALTIME/./} + 40000))
  while [ ${EPOCHREALTIME/./} -lt $end ]; do :; done
  sleep 0.04
done'
if [ "$way" = command ]; then
  via=direct
  record --cpu --block -- taskset -c "$processor" "$bin/luajit" "$here/cpu.lua" "$scratch/go"
else
  begin taskset -c "$processor" "$bin/luajit" "$here/cpu.lua" "$scratch/go"
  runs $target "$bin/luajit"
  record --via "$way" --cpu -p $target
fi
recording
passes 3  # then it follows the thread: what that did before is not known
touch "$scratch/go"
finish 0
json "$scratch/trace.bin" >"$scratch/report.json"
same "losses" "$(jq '.trust.lost' "$scratch/report.json")" 0
same "rounds" "$(of round calls)" 10
# Within 2 %: the program's own clock also has what the switches themselves take.
between "CPU time of burns" 490000000 "$(of burns cpu_ns)" 560000000
between "inclusive time of burns, with a competitor" 700000000 "$(of burns inclusive_ns)" 100000000000
between "inclusive time of round" "$((200000000 + $(of burns inclusive_ns)))" "$(of round inclusive_ns)" 100000000000
unknown=$(jq .trace.cpu_unknown_ns "$scratch/report.json")
late=$("$bin/luatrace-analyze" --dump "$scratch/trace.bin" | awk '
  /^func .* line=12 / { round = $2; sub(/.*:/, "", round) }
  $3 == "entry" && $4 == round { working = 1 }
  working && /cpu unknown/ { late++ }
  END { print late+0, working+0 }')
same "times in the rounds for which nothing is known, and that there are rounds" "$late" "0 1"
between "CPU time of waits" 0 "$(of waits cpu_ns)" $(($(of waits inclusive_ns) / 20 + unknown))
echo "CPU time of waits: $(of waits cpu_ns) ns, of it not known: $unknown ns"
between "preempted" 200000000 "$(jq .trace.preempted_ns "$scratch/report.json")" 100000000000
"$bin/luatrace-analyze" -q --report --fields cpu,self_cpu --sort cpu "$scratch/trace.bin" >"$scratch/table"
grep -q 'self_cpu' "$scratch/table" || fail "no column: $(cat "$scratch/table")"
"$bin/luatrace-analyze" -q --fail-if 'cpu(burns) > 450ms' "$scratch/trace.bin" >/dev/null 2>&1 && fail "--fail-if cpu"

# Without --cpu nothing is made up.
"$bin/luatrace-record" -q -o "$scratch/plain.bin" -- "$bin/luajit" -e 'local function f() end f()'
same "cpu_ns without --cpu" "$(json "$scratch/plain.bin" | jq '[.functions[] | has("cpu_ns")] | any')" false
refuses "'cpu' is not known" "$bin/luatrace-analyze" -q --fail-if 'cpu(f) > 1ms' "$scratch/plain.bin"
"$bin/luatrace-analyze" -q --report --sort cpu "$scratch/plain.bin" 2>&1 | grep 'CPU times are not known' >/dev/null || fail "no warning"
