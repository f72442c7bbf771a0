#!/bin/bash
# SPDX-License-Identifier: MIT
#
# luatrace-record --flight: only the newest events are kept; a snapshot of them is a complete trace with
# the calls that began before it; and each way of asking for one. --only-slow: the trees of slow calls,
# and nothing else. The second argument: --via.
source "$(dirname "$0")/lib.sh"
via=$2
need_way "$via"
jobs=$scratch/jobs
job() { echo "$1" >>"$jobs"; }
analyze() { json "$1" >"$scratch/report.json" || fail "no report of $1"; }
field() { jq -r "$1" "$scratch/report.json"; }
of() { field "[.functions[] | select(.name == \"$1\") | .$2][0] // 0"; }
file() { [ "$1" = 1 ] && echo "$scratch/trace.bin" || echo "$scratch/trace.bin.$1"; }
# snapshot N WHY: waits for the Nth one and analyzes it.
snapshot() {
  within 60 "snapshot $1 ($2)" logged "$(basename "$(file "$1")"): snapshot \\($2"
  analyze "$(file "$1")"
  same "what is wrong in snapshot $1" "$(field '.trust | .unbalanced + .truncated + .bad_records + .undescribed')" 0
  same "the sum of snapshot $1" "$(field '.trace | .self_ns + .idle_ns + .gap_ns - .traced_ns | fabs < 100')" true
}
rss() { awk '/^VmRSS/ { print $2 }' "/proc/$recorder/status"; }

: >"$jobs"
begin "$bin/luajit" "$here/flight.lua" "$jobs"
runs $target "$bin/luajit"
record --via "$via" --flight 256K --slow handle=70ms --on-error handle -p $target
recording
[ ! -s "$scratch/trace.bin" ] || fail "written without being asked"
# Through BPF several may record.
[ "$via" = bpf ] || refuses 'is being recorded|already' "$bin/luatrace-record" -q --via "$via" -o "$scratch/other.bin" -p $target -d 1
refuses 'no luatrace-record --flight records it' "$bin/luatrace-record" --snapshot -p $$

# Until the park is far behind the window.
job park
kill -USR1 $recorder
snapshot 1 SIGUSR1
n=1
until [ $n -gt 3 ] && [ "$(of waits calls)" = 0 ]; do
  n=$((n + 1))
  [ $n -lt 60 ] || fail "the window does not move"
  sleep 0.2
  if [ $((n % 2)) = 0 ]; then "$bin/luatrace-record" -q --snapshot -p $target; else kill -USR1 $recorder; fi
  snapshot $n SIGUSR1
  [ "$(stat -c %s "$(file $n)")" -lt 700000 ] || fail "snapshot $n is too large"
done
before=$(rss)
[ "$(of handle calls)" -gt 20 ] || fail "no work in snapshot $n"
[ "$(of serve inclusive_ns)" -gt "$(of handle inclusive_ns)" ] || fail "handle is not below serve, which began long ago"
[ "$(of waits wall_ns)" -gt 0 ] || fail "the coroutine that has waited since before is missing"
same "calls of rare so far" "$(of rare calls)" 0

n=$((n + 1))
job slow
snapshot $n 'handle took'
same "calls of rare" "$(of rare calls)" 1
[ "$(of handle max_ns)" -gt 70000000 ] || fail "the slow call is not complete: $(of handle max_ns) ns"
sleep 1.1
n=$((n + 1))
job error
snapshot $n 'handle was left by an error'
[ "$(field .trust.unwound)" -gt 0 ] || fail "the error is missing"
[ "$(rss)" -lt $((before + 4000)) ] || fail "memory grows: $before kB have become $(rss) kB"

# A snapshot that cannot be written costs nothing but itself.
n=$((n + 1))
mkdir "$(file $n)"
kill -USR1 $recorder
within 20 "the error" logged "trace.bin.$n: cannot open for writing"
job end
finish 125
logged "snapshot \\(end of the recording\\)" || fail "no snapshot at the end: $(cat "$scratch/record.err")"

# --only-slow
: >"$jobs"
rm -rf "$scratch"/trace.bin*
begin "$bin/luajit" "$here/flight.lua" "$jobs"
runs $target "$bin/luajit"
record --via "$via" --only-slow handle=70ms --compress -p $target
recording
job park
for _ in 1 2 3; do job slow; done
job end
finish 0
analyze "$scratch/trace.bin"
same "anomalies of the slow calls" "$(field '.trust | .unbalanced + .truncated + .bad_records + .undescribed + .cut')" 0
same "slow calls" "$(of handle calls) $(of rare calls) $(of serve calls) $(of step calls)" "3 3 0 120"
same "all of them are complete" "$(of handle complete)" 3
[ "$(stat -c %s "$scratch/trace.bin")" -lt 20000 ] || fail "the file is too large for three calls"
