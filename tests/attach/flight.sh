#!/bin/bash
# SPDX-License-Identifier: MIT
#
# luatrace-record --flight: only the newest events are kept, a snapshot of them is a complete trace with
# the calls that began before it; and each way of asking for one. The second argument: --via.
source "$(dirname "$0")/lib.sh"
via=$2
need_way "$via"
jobs=$scratch/jobs
start() { : >"$jobs"; begin "$bin/luajit" "$here/flight.lua" "$jobs"; runs $target "$bin/luajit"; }
job() { echo "$1" >>"$jobs"; }
json() { "$bin/luatrace-analyze" --json "$1" >"$scratch/report.json" || fail "no report of $1"; }
field() { jq -r "$1" "$scratch/report.json"; }
function_field() { jq -r "[.functions[] | select(.name == \"$1\") | .$2][0] // 0" "$scratch/report.json"; }
written() { logged "$(basename "$1"): snapshot \\($2"; }
has_snapshot() { within 60 "the snapshot $1 ($2)" written "$1" "$2"; }
rss() { awk '/^VmRSS/ { print $2 }' "/proc/$recorder/status"; }
held() { [ "$(stat -c %s "$scratch/trace.bin.2")" -gt 100000 ]; }

start
record --via "$via" --flight 256K --slow handle=70ms --on-error handle -p $target
recording
[ ! -s "$scratch/trace.bin" ] || fail "written without being asked"

# Asked again and again until the window is full: the calls around the work have left it.
n=1
while :; do
  name=$scratch/trace.bin; [ $n = 1 ] || name=$name.$n
  if [ $((n % 2)) = 0 ]; then kill -USR1 $recorder; else "$bin/luatrace-record" -q --snapshot -p $target; fi
  has_snapshot "$name" SIGUSR1
  json "$name"
  [ "$(stat -c %s "$name")" -lt 700000 ] || fail "$name is too large"
  same "what does not fit together in $name" "$(field '.trust | .unbalanced + .truncated + .inferred + .bad_records')" 0
  same "self + idle + unknown" "$(field '.total.self_ns + .total.idle_ns + .total.gap_ns - .total.traced_ns | fabs < 10')" true
  [ "$(function_field serve calls)" != 0 ] || break
  n=$((n + 1))
  [ $n -lt 60 ] || fail "the window does not move"
done
before=$(rss)
[ "$(function_field handle calls)" -gt 100 ] || fail "no work in $name"
[ "$(function_field parked wall_ns)" -gt 0 ] || fail "the suspended coroutine is missing"
[ "$(function_field serve inclusive_ns)" -gt "$(function_field handle inclusive_ns)" ] || fail "handle is not below serve"
[ "$(function_field rare calls)" = 0 ] || fail "rare was called already"

n=$((n + 1)); job slow
has_snapshot "$scratch/trace.bin.$n" 'handle took'
json "$scratch/trace.bin.$n"
same "calls of rare" "$(function_field rare calls)" 1
[ "$(function_field rare inclusive_ns)" -gt 70000000 ] || fail "rare was not slow"
n=$((n + 1)); sleep 1.1; job error
has_snapshot "$scratch/trace.bin.$n" 'handle was left by an error'
json "$scratch/trace.bin.$n"
[ "$(function_field handle unwound)" -ge 1 ] || fail "the error is missing"

# Memory is flat; what cannot be written is reported, and the next one is tried again.
chmod 500 "$scratch"; mkdir -p /tmp/none 2>/dev/null || true
chmod 700 "$scratch"
[ "$(rss)" -lt $((before + 3000)) ] || fail "$before kB have become $(rss)"
n=$((n + 1)); mkdir "$scratch/trace.bin.$n"; kill -USR1 $recorder
within 20 "the error" logged "trace.bin.$n: cannot open for writing"
job end
finish 125
within 20 "the last snapshot" grep -q 'end of the recording' "$scratch/record.err"
