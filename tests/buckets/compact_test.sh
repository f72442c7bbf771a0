#!/bin/bash
# SPDX-License-Identifier: MIT
#
# --compact: profiles get longer time buckets in their files; no sum changes, and what cannot be
# made longer stays as it is.
#   compact_test.sh LUATRACE-ANALYZE
. "$(dirname "$0")/../lib.sh"
analyze=$1
cd "$scratch"

# Two hours of a function that calls another each minute, from the day $1 on.
hours() {
  echo "#luatrace-text 1"
  echo "clock monotonic mult=1000000000 shift=0 real=$(($1 * 86400))000000000"
  echo 'process 1 pid=7 exe="/usr/bin/luajit" cmd="luajit"'
  echo 'stream 1 process=1 tid=7 recording=1 luajit="LuaJIT 2.1"'
  for f in 1 2; do echo "func 1:$f lua line=${f}0 chunk=\"@app.lua\" name=\"f$f\""; done
  awk 'BEGIN {
    print "0 1 start\n0 1 entry 1"
    for (m = 0; m < 120; m++) { print m * 60 + 5, 1, "entry 2"; print m * 60 + 7 + m % 30, 1, "return 2" }
    print "7200 1 return 1\n7200 1 stop close\nend exit=0"
  }'
}
hours 20000 >mon.txt
hours 20001 >tue.txt
for d in mon tue; do
  "$analyze" -q $d.txt --bucket 1m --save-profile $d.p
  "$analyze" -q $d.txt --bucket 1h --save-profile $d.expected
  cp $d.p $d.minutes
done
"$analyze" -q mon.txt --bucket 24h --save-profile day.p
cp day.p day.before

"$analyze" --compact 1h mon.p tue.p day.p >out 2>&1 || fail "status $?: $(cat out)"
same "what it prints" "" "$(cat out)"
for d in mon tue; do cmp $d.p $d.expected || fail "$d.p is not what --bucket 1h makes of its trace"; done
cmp day.p day.before || fail "a profile of days has changed"
same "the sums" "$("$analyze" --json mon.minutes | jq -S .functions)" "$("$analyze" --json mon.p | jq -S .functions)"
[ "$(wc -c <mon.p)" -lt $(($(wc -c <mon.minutes) / 2)) ] || fail "it is no smaller: $(wc -c mon.p mon.minutes)"
inode=$(stat -c %i mon.p)
"$analyze" --compact 1h mon.p
same "again: the file" "$inode" "$(stat -c %i mon.p)"

# One that cannot be compacted does not stop the others, and stays as it is.
cp mon.minutes mon.p
"$analyze" -q mon.txt --save-profile plain.p
"$analyze" -q tue.txt --bucket 5m --save-profile fives.p
head -c 300 mon.minutes >cut.p
for f in plain.p fives.p cut.p mon.txt; do cp $f $f.before; done
status=0
"$analyze" --compact 12m plain.p fives.p cut.p mon.txt missing.p mon.p 2>err || status=$?
same "status" 2 $status
for message in "plain.p: --compact: it has no time buckets" "fives.p: --compact: it has time buckets of 5m, and 12m is no multiple" \
  "cut.p: damaged profile: it is truncated" "mon.txt: --compact: not a saved profile" "missing.p: cannot open"; do
  grep "^luatrace-analyze: $message" err >/dev/null || fail "no message '$message': $(cat err)"
done
for f in plain.p fives.p cut.p mon.txt; do cmp $f $f.before || fail "$f has changed"; done
"$analyze" -q mon.txt --bucket 12m --save-profile expected
cmp mon.p expected || fail "mon.p after the others"
[ "$(find . -newer err -name '*.p' | wc -l)" -le 1 ] || fail "files are left: $(ls -a)"

wrong() { refuses "^luatrace-analyze: $1" "$analyze" "${@:2}"; }
wrong "--compact: invalid length '7m'; a day must be a multiple of it" --compact 7m mon.p
wrong "--compact rewrites files, and - is standard input" --compact 1h -
wrong "--report cannot be combined with --compact, which rewrites saved profiles" --compact 1h mon.p --report
wrong "--save-profile cannot be combined with --compact" --compact 1h mon.p --save-profile x
wrong "the required argument for option '--compact' is missing" mon.p --compact
