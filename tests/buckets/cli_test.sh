#!/bin/bash
# SPDX-License-Identifier: MIT
#
# --bucket on the command line: writing, merging, longer buckets, ranges, the timeline, comparisons,
# and what is refused, with its status.
#   cli_test.sh LUATRACE-ANALYZE
. "$(dirname "$0")/../lib.sh"
analyze=$1
cd "$scratch"

# day FILE DAY SECONDS: f1 runs all day; in even hours it calls f2 each minute for so long, in odd ones f3.
day() {
  {
    echo "#luatrace-text 1"
    echo "clock monotonic mult=1000000000 shift=0 real=$(($2 * 86400))000000000"
    echo 'process 1 pid=7 exe="/usr/bin/luajit" cmd="luajit"'
    echo 'stream 1 process=1 tid=7 recording=1 luajit="LuaJIT 2.1"'
    for f in 1 2 3; do echo "func 1:$f lua line=${f}0 chunk=\"@app.lua\" name=\"f$f\""; done
    awk -v "seconds=$3" 'BEGIN {
      print "0 1 start\n0 1 entry 1"
      for (m = 0; m < 1440; m++) {
        f = 2 + int(m / 60) % 2
        print m * 60 + 5, 1, "entry", f
        print m * 60 + 5 + seconds, 1, "return", f
      }
      print "86400 1 return 1\n86400 1 stop close\nend exit=0"
    }'
  } >"$1"
}
day mon.txt 20000 10
day tue.txt 20001 15
json() { "$analyze" -q --json "$@" | jq -c '[.functions[]|{(.name):(.self_ns/1e9)}]|add'; }

for d in mon tue; do
  "$analyze" -q "$d.txt" --bucket 1m --save-profile $d.p || fail "$d.p is not written"
  "$analyze" -q "$d.txt" --save-profile $d.plain
  for view in --report --tree '--callers f2' '--hist f3' --info --json --folded; do
    # shellcheck disable=SC2086  # A view may be two words.
    same "$view of $d.p" "$("$analyze" $view $d.plain)" "$("$analyze" $view $d.p)"
  done
  "$analyze" -q $d.p --bucket none --save-profile without && cmp without $d.plain || fail "--bucket none"
done

# Merging in any order, with longer buckets or without.
"$analyze" -q mon.p tue.p --save-profile both.p && "$analyze" -q tue.p mon.txt --bucket 1m --save-profile both2.p
cmp both.p both2.p || fail "the order of merging shows"
"$analyze" -q both.p --bucket 1h --save-profile hours.p && "$analyze" -q mon.p tue.txt --bucket 1h --save-profile hours2.p
cmp hours.p hours2.p || fail "hours differ"
[ "$(wc -c <hours.p)" -lt $(($(wc -c <both.p) / 10)) ] || fail "hours are not smaller: $(wc -c hours.p both.p)"
same "sums of hours" "$("$analyze" --json both.p)" "$("$analyze" --json hours.p)"

# Ranges: times of day, dates; whole buckets.
same "an hour" '{"f1":3000,"f2":600}' "$(json mon.p -r 14:00~15:00)"
same "an hour of the trace" '{"f1":3000,"f2":600}' "$(json mon.txt -r 14:00~15:00)"
same "an hour of each day" '{"f1":5700,"f2":1500}' "$(json both.p -r 14:00~15:00)"
same "some minutes" '{"f1":100,"f3":20}' "$(json mon.p -r 2024-10-04T15:10:00~2024-10-04T15:12:00)"
same "a day" '{"f1":64800,"f2":10800,"f3":10800}' "$(json hours.p -r 2024-10-05T00:00:00~2024-10-06T00:00:00)"
"$analyze" -q both.p -r 14:00~15:00 --save-profile hour.p
same "a range that is saved" "$(json both.p -r 14:00~15:00)" "$(json hour.p)"
same "its filters" '["-r 14:00:00~15:00:00","-r 14:00:00~15:00:00"]' "$("$analyze" --json hour.p | jq -c '[.trace.files[].filters]')"
"$analyze" -q mon.p -r 2025-01-01T00:00:00~ 2>err || fail "an empty range: status $?"
grep -q "^luatrace-analyze: mon.p: nothing of it is in the range of --time-range$" err || fail "an empty range: $(cat err)"

# Yesterday's same hour.
same "--diff" '[["f1",-300],["f2",300]]' \
  "$("$analyze" -q tue.p -r 14:00~15:00 --diff mon.p --json | jq -c '[.diff[]|[.name,.self_delta_ns/1e9]]|sort')"
status=0
"$analyze" -q tue.p -r 14:00~15:00 --diff mon.p --fail-if 'change(self(f2)) > 40%' 2>err || status=$?
same "--fail-if" 4 $status

# The timeline: a slice for each hour, and minutes that are made fewer.
rows() { "$analyze" --timeline --json "$@" | jq -c '[.timeline[]|select(.lane=="f2")]|[length,(map(.busy_ns)|add)/1e9,.[0].from_ns/1e9,.[0].to_ns/1e9]'; }
same "--timeline of hours" '[24,18000,1728000000,1728003600]' "$(rows hours.p)"
same "--timeline of minutes" '[720,18000,1728000000,1728000120]' "$(rows both.p)"
same "--timeline of minutes, --bucket" "$(rows hours.p)" "$(rows both.p --bucket 1h)"
"$analyze" --timeline --width 100 hours.p >out
grep -qx "time buckets of 1h, 2024-10-04 00:00:00 to 2024-10-06 0[01]:00:00 UTC" out || fail "the heading: $(cat out)"
grep -q "2024-10-04 00:00:00 .* 2024-10-06 0" out || fail "the ends: $(cat out)"
grep -q "^f2 .*|▁ ▁ ▁ ▁ ▁ ▁ ▁ ▁ ▁ ▁ ▁ ▁ ▂ ▂ ▂ ▂ ▂ ▂ ▂ ▂ ▂ ▂ ▂ ▂  *|$" out || fail "the lanes: $(cat out)"

# Samples: as many in f1 all day; 10 (or 20) a minute of f2, in even hours compiled.
samples() {
  {
    echo "#luatrace-text 1"
    echo "clock monotonic mult=1 shift=0 real=$(($2 * 86400))000000000"
    echo 'process 1 pid=7 exe="/usr/bin/luajit" cmd="luajit"'
    echo 'stream 1 process=1 flags=0x200'
    for f in 1 2; do echo "func 1:$f lua line=${f}0 chunk=\"@app.lua\" name=\"f$f\""; done
    awk -v "n=$3" -v "more=${4-}" 'BEGIN {
      for (m = 0; m < 1440; m++)
        for (i = 0; i < 10 + n; i++) {
          printf "sample 1 %d000000000 ns=10000000 tid=7%s", m * 60 + i, more
          printf int(m / 60) % 2 ? " state=interpreter" : " state=compiled"
          print i < 10 ? " 1" : " 2 1"
        }
      print "end exit=0"
    }'
  } >"$1"
}
samples mon.samples 20000 10
samples tue.samples 20001 20
samples mon.waits 20000 10 " off=1"
for d in mon.samples tue.samples mon.waits; do
  "$analyze" -q $d --bucket 1m --save-profile $d.p || fail "$d.p is not written"
  "$analyze" -q $d --save-profile $d.plain
  for view in --report --tree '--callers f2' --info --json --folded; do
    # shellcheck disable=SC2086  # A view may be two words.
    same "$view of $d.p" "$("$analyze" $view $d.plain)" "$("$analyze" $view $d.p)"
  done
  "$analyze" -q $d.p --bucket none --save-profile without && cmp without $d.plain || fail "$d: --bucket none"
done
"$analyze" -q mon.samples.p tue.samples.p --save-profile both.s
"$analyze" -q tue.samples.p mon.samples --bucket 1m --save-profile both2.s
cmp both.s both2.s || fail "samples: the order of merging shows"
"$analyze" -q both.s --bucket 1h --save-profile hours.s
same "samples: sums of hours" "$("$analyze" --json both.s)" "$("$analyze" --json hours.s)"
counts() { "$analyze" -q --json "$@" | jq -c '[.trace.samples,.trace.filtered_samples,(.functions[]|select(.name=="f2")|.self_samples,.samples,.self_ns/1e9,.compiled_ns/1e9)]'; }
same "samples of an hour" '[1200,0,600,600,6,6]' "$(counts mon.samples.p -r 14:00~15:00)"
same "samples of the next hour" '[1200,0,600,600,6,0]' "$(counts mon.samples.p -r 15:00~16:00)"
same "waits of an hour" '[1200,0,600,600,6,6]' "$(counts mon.waits.p -r 14:00~15:00)"
same "samples of that hour of both days" '[3000,0,1800,1800,18,18]' "$(counts hours.s -r 14:00~15:00)"
"$analyze" -q mon.samples -F f2 --bucket 1m --save-profile f2.p || fail "samples: -F with --bucket"
same "samples, filtered" '[1200,600,600,600,6,6]' "$(counts f2.p -r 14:00~15:00)"
same "samples: functions of an hour of the trace" "$("$analyze" -q --json mon.samples -r 14:00~14:59:59 | jq .functions)" \
  "$("$analyze" -q --json mon.samples.p -r 14:00~15:00 | jq .functions)"
"$analyze" -q mon.samples --group-by thread --bucket 1m --save-profile threads.p || fail "samples: --group-by with --bucket"
groups() { "$analyze" -q --json "$@" | jq -c '[.functions[]|[.name,.kind,.self_ns/1e9,.samples]]|sort'; }
same "samples: groups of an hour" "$(groups mon.samples --group-by thread -r 14:00~14:59:59)" "$(groups threads.p -r 14:00~15:00)"
wrong_groups=0
"$analyze" -q threads.p mon.samples.p --save-profile x 2>err || wrong_groups=$?
same "samples: groups and none" 1 $wrong_groups
same "samples: --diff" '[["f1",0],["f2",6]]' \
  "$("$analyze" -q tue.samples.p -r 14:00~15:00 --diff mon.samples.p --json | jq -c '[.diff[]|[.name,.self_delta_ns/1e9]]|sort')"
status=0
"$analyze" -q tue.samples.p -r 14:00~15:00 --fail-if 'self(f2) > 60%' 2>err || status=$?
same "samples: --fail-if" 4 $status
same "samples: --timeline of hours" '[48,432,1728000000,1728003600]' "$(rows hours.s)"
same "samples: --timeline of the traces" "$(rows hours.s)" "$(rows mon.samples tue.samples --bucket 1h)"

# Refusals.
wrong() { refuses "^luatrace-analyze: $1" "$analyze" -q "${@:2}"; }
wrong "--bucket needs --save-profile FILE or --timeline" mon.txt --bucket 1m
wrong "--bucket: invalid length '7m'; a day must be a multiple of it" mon.txt --bucket 7m --save-profile x
wrong "--bucket: invalid length '1ms'" mon.txt --bucket 1ms --save-profile x
wrong "--bucket: 'often' is not a time" mon.txt --bucket often --save-profile x
wrong "--bucket cannot be combined with a filter for mon.txt" mon.txt -F f2 --bucket 1m --save-profile x
wrong "--bucket cannot be combined with --threads for mon.txt" mon.txt --threads --bucket 1m --save-profile x
wrong "--bucket cannot be combined with --group-by for mon.txt" mon.txt --group-by file --bucket 1m --save-profile x
wrong "mon.plain has no time buckets, mon.p has time buckets of 1m" mon.p mon.plain --save-profile x
wrong "hours.p has time buckets of 1h, mon.p has time buckets of 1m" mon.p hours.p --save-profile x
wrong "hours.p has time buckets of 1h, mon.p has time buckets of 1m" mon.p hours.p --timeline
wrong "--bucket: hours.p has buckets of 1h" hours.p --bucket 1m --save-profile x
wrong "--timeline: mon.plain has no time buckets" mon.plain --timeline
wrong "mon.plain: a saved profile has no events, and this one no time buckets" mon.plain -r 14:00~
wrong "--time-range: 14:30:00 is inside of a bucket of hours.p" hours.p -r 14:30~
wrong "--time-range: mon.p is a saved profile, of which only time buckets are known" mon.p -r 20%~
wrong "--time-range: '15:00~14:00' is empty" mon.p -r 15:00~14:00
wrong "--time-range: '25:00' is not a time" mon.p -r 25:00~
wrong "mon.waits.p has samples of blocked time, mon.samples.p has samples of CPU time" mon.samples.p mon.waits.p --save-profile x
wrong "mon.samples.p has samples of CPU time, mon.p has events" mon.p mon.samples.p --save-profile x
wrong "mon.samples.plain has no time buckets, mon.samples.p has time buckets of 1m" mon.samples.p mon.samples.plain --save-profile x
wrong "--timeline: mon.samples has samples, .*: give --bucket LENGTH, too" mon.samples --timeline
wrong "mon.p: a saved profile has no events, which a filter needs" mon.p -F f2
[ ! -e x ] || fail "x was written"
head -c 9000 mon.p >cut.p
"$analyze" -q cut.p 2>err && fail "cut.p is read"
grep -q "cut.p: damaged profile: it is truncated" err || fail "cut.p: $(cat err)"
