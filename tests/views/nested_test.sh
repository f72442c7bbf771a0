#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Coroutines that resume each other, many levels deep, with many calls in the innermost: the sums are
# the same with views of single calls and without. Arguments: luatrace-analyze.
. "$(dirname "$0")/../lib.sh"
analyze=$1
dir=$scratch

# nest LEVELS: outer (f1) in each coroutine resumes the next; in the innermost 3,000 calls of leaf (f2).
nest() {
  awk -v levels="$1" 'BEGIN {
    print "#luatrace-text 1\nclock monotonic mult=1 shift=0\nprocess 1 pid=7\nstream 1 process=1 tid=7 recording=1"
    print "func 1:1 lua line=1 chunk=\"@x.lua\" name=\"outer\"\nfunc 1:2 lua line=1 chunk=\"@y.lua\" name=\"leaf\""
    print "0 1 ringblock co=1 tid=7 rec=1\n0 1 start\n0 1 entry 1"
    for (i = 2; i < levels + 2; i++) printf "%d 1 create %d\n%d 1 resume %d\n%d 1 entry 1\n", ++t, i, t, i, t
    for (i = 0; i < 3000; i++) { printf "%d 1 entry 2\n%d 1 return 2\n", t, t + 5; t += 10 }
    for (i = 0; i < levels; i++) printf "%d 1 return 1\n%d 1 suspend done\n", ++t, t
    printf "%d 1 return 1\n%d 1 stop close\nend exit=0\n", t + 1, t + 1
  }' >"$dir/nest.txt"
}
# ask OPTIONS: the sums and anomalies into $dir/sums, the number of slow calls, and of leaf in the longest, into $dir/slow.
ask() {
  "$analyze" -q --strict --report --limit 0 "$@" --json="$dir/out.json" "$dir/nest.txt" >"$dir/out" 2>"$dir/err" ||
    fail "$*: status $?: $(head -c 300 "$dir/err")"
  python3 - "$dir" <<'PY'
import json, sys
folder = sys.argv[1]
d = json.load(open(folder + "/out.json"))
t, trust = d["trace"], d["trust"]
assert t["traced_ns"] == t["self_ns"] + t["idle_ns"] + t["gap_ns"] + t["filtered_ns"], t
print(t["traced_ns"], trust["anomalies"], trust["open_end"], file=open(folder + "/sums", "w"))
rows = d.get("slow", [])
print(sum(r["depth"] == 1 for r in rows), sum(r["calls"] for r in rows if r["name"] == "leaf" and r["call"] == 1),
      file=open(folder + "/slow", "w"))
PY
}

for levels in 60 200; do
  nest $levels
  ask
  cp "$dir/sums" "$dir/want"
  for options in "--slow outer" "--slow outer -t 8ns" "--slow outer -C leaf" "-C leaf" "-t 8ns" \
    "--slow outer --coroutines=separate" "--group-by file --coroutines=merged --threads" "--coroutine 3"; do
    # shellcheck disable=SC2086
    ask $options
    cmp -s "$dir/want" "$dir/sums" || fail "$levels, $options: $(cat "$dir/sums"), not $(cat "$dir/want")"
  done
done
# Each value of the innermost is passed on by all of them, as recursive generators do: hardly anything but
# resumes and yields. Formats of single calls have every one of these.
awk 'BEGIN {
  levels = 200
  print "#luatrace-text 1\nclock monotonic mult=1 shift=0\nprocess 1 pid=7\nstream 1 process=1 tid=7 recording=1"
  print "func 1:1 lua line=1 chunk=\"@x.lua\" name=\"walk\"\n0 1 ringblock co=1 tid=7 rec=1\n0 1 start\n0 1 entry 1"
  for (i = 2; i < levels + 2; i++) printf "%d 1 create %d\n%d 1 resume %d\n%d 1 entry 1\n", ++t, i, t, i, t
  for (n = 0; n < 100; n++) {
    for (i = 0; i < levels; i++) printf "%d 1 suspend yield\n", ++t
    for (i = 2; i < levels + 2; i++) printf "%d 1 resume %d\n", ++t, i
  }
  print t + 1, "1 stop close\nend exit=0"
}' >"$dir/walk.txt"
for options in "--format chrome" "--format perfetto" "--slow walk --limit 1" "--coroutines"; do
  # shellcheck disable=SC2086
  "$analyze" -q --strict $options "$dir/walk.txt" >"$dir/out" 2>"$dir/err" || fail "$options: status $?: $(head -c 300 "$dir/err")"
done
# Of more than 64 slow calls inside each other only the outermost are kept; a message counts the others.
nest 60
ask --slow outer && [ "$(cat "$dir/slow")" = "61 3000" ] || fail "60 levels: $(cat "$dir/slow")"
nest 200
ask --slow outer && [ "$(cat "$dir/slow")" = "64 3000" ] || fail "200 levels: $(cat "$dir/slow")"
grep -q "^luatrace-analyze: --slow: 137 calls have no row of their own" "$dir/err" || fail "200 levels: $(cat "$dir/err")"
