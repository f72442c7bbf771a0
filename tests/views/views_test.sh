#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The views, filters and comparisons of luatrace-analyze on a small server whose
# times are written in data/requests.txt: what is expected was derived from them
# by hand.
#   views_test.sh LUATRACE-ANALYZE DATA
. "$(dirname "$0")/../lib.sh"
analyze=$1 data=$2 trace=$2/requests.txt

# shows TEXT ARGUMENT...: the CSV of the arguments has TEXT as a line.
shows() {
  local line=$1
  shift
  "$analyze" --csv "$@" "$trace" >"$scratch/csv" || fail "$*: status $?"
  grep -qxF -- "$line" "$scratch/csv" || fail "$*: no '$line' in
$(cat "$scratch/csv")"
}
hides() {
  "$analyze" --csv "${@:2}" "$trace" >"$scratch/csv" || fail "${*:2}: status $?"
  grep -qF -- "$1" "$scratch/csv" && fail "${*:2}: '$1' in
$(cat "$scratch/csv")" || true
}
# value FILTER ARGUMENT...: jq's FILTER on the JSON of the arguments.
value() { "$analyze" --json "${@:2}" "$trace" | jq -c "$1"; }
f="--fields=calls,total,self"
{ # A chain of 40 calls.
  printf '#luatrace-text 1\nclock monotonic mult=1 shift=0\nprocess 1 pid=7\nstream 1 process=1 tid=7 recording=1\n'
  for i in {1..40}; do echo "func 1:$i lua line=$i chunk=\"@x.lua\" name=\"f$i\""; done
  printf '0 1 start\n0 1 ringblock co=1 tid=7 rec=1\n'
  for i in {1..40}; do echo "$i 1 entry $i"; done
  for i in {40..1}; do echo "$((81 - i)) 1 return $i"; done
  echo end exit=0
} >"$scratch/chain.txt"
auth="auth,'@plugins/auth/init.lua,5,lua,1"
wait="wait,'@plugins/auth/init.lua,50,lua,1"
handle="handle,'@server.lua,10,lua,1"
cache="cache,'@plugins/cache/init.lua,7,lua,1"
check="check,'@plugins/auth/init.lua,30,lua,1"
gsub="string.gsub,,0,ff,0"
poll="poll,'@server.lua,40,lua,1"
main="main chunk,'@server.lua,0,lua,0"

# --report: 100 ms in all. handle: 10 + 40 + 10 ms.
shows "1,100000000,30000000,$main" --report $f
shows "2,60000000,16000000,$handle" --report $f
shows "1,36000000,26000000,$cache" --report $f
shows "1,6000000,2000000,$auth" --report $f
shows "1,2000000,2000000,$wait" --report $f
shows "2,110000000,20000000,40000000,40000000,$handle" --report --fields=calls,wall,min,max,p99
same "sum of self" 100000000 "$(value '[.functions[].self_ns]|add')"
same "first row" 30000000 "$("$analyze" --csv --report --fields=self --limit 1 "$trace" | sed -n '2s/,.*//p')"
same "sorted by name" auth "$("$analyze" --csv --report --sort name --limit 1 --fields=self "$trace" | sed -n 2p | cut -d, -f2)"
# avg of 20 and 40 ms; deviation 10 ms.
shows "30000000,10000000,20000000,40000000,$handle" --report --fields=avg,stddev,min,max

# Trees. check is below cache only; the coroutines hang below main.
same "tree" '["main chunk",1,100000000]' "$(value '.tree[0]|[.name,.depth,.total_ns]' --tree)"
same "chain to check" '["handle","cache","check"]' \
  "$(value '[.tree[]|select(.total_ns>0)]|[.[]|select(.name=="handle" or .name=="cache" or .name=="check")]|[.[].name]' --tree)"
same "callers of check" '["check","cache","handle","main chunk"]' "$(value '[.callers[].name]' --callers check)"
same "callees of handle" '[["handle",60000000],["cache",36000000],["check",10000000],["auth",6000000],["string.gsub",4000000],["wait",2000000]]' \
  "$(value '[.callees[]|[.name,.total_ns]]' --callees handle)"

# --hist: 20 ms and 40 ms lie in 16.8..33.6 and 33.6..67.1.
same "histogram" '[[16777216,1],[33554432,1]]' "$(value '[.hist[]|[.from_ns,.calls]]' --hist handle)"

# --slow: the second handle ran 40, the first 20 ms, of 70 from beginning to end.
same "slow by running" '[10000000,40000000,40000000,3]' "$(value '.slow[0]|[.at_ns,.running_ns,.wall_ns,.coroutine]' --slow handle --over 30ms)"
same "slow by wall" '[0,20000000,70000000,2]' "$(value '.slow[0]|[.at_ns,.running_ns,.wall_ns,.coroutine]' --slow handle --over 50ms --wall)"
same "one is slow" '[1]' "$(value '[.slow[].call]|unique' --slow handle --over 30ms)"
same "its tree" '[["handle",4000000],["cache",26000000],["check",10000000]]' "$(value '[.slow[]|[.name,.self_ns]]' --slow handle --over 30ms)"
same "suspended in wait" 50000000 "$(value '.slow[]|select(.name=="wait")|.yielded_ns' --slow handle --over 50ms --wall)"
same "--limit is for the calls, not for their trees" 3 "$(value '.slow|length' --slow handle --over 30ms --limit 1)"
same "--limit of a tree" 20 "$("$analyze" --tree --limit 20 "$scratch/chain.txt" | grep -c 'f[0-9]')"
same "-t hides slow calls" '[40000000]' "$(value '[.slow[]|select(.depth==1).running_ns]' --slow handle -t 30ms)"
# What was suspended in a call that -t hides was suspended in its caller.
same "-t and suspended time of slow calls" '[["handle",1,20000000,50000000]]' "$(value '[.slow[]|[.name,.calls,.self_ns,.yielded_ns]]' --slow handle --over 50ms --wall -t 10ms)"
same "-C hides slow calls" '[40000000]' "$(value '[.slow[]|select(.depth==1).running_ns]' --slow handle -C cache)"
"$analyze" --slow handle --over 30ms "$trace" | grep >/dev/null "0.010000 s (2023-11-14 22:13:20.010000 UTC)" || fail "time of a slow call"

# --coroutines: 2 was made by main, lived 70 ms, yielded 50 in wait.
same "coroutine" '[0,70000000,20000000,50000000,"returned","wait  (plugins/auth/init.lua:50)","main chunk  (server.lua:0)"]' \
  "$(value '.coroutines[]|select(.coroutine==2)|[.begin_ns,.life_ns,.running_ns,.suspended_ns,.end,.longest_yield_in,.created_in]' --coroutines)"
same "births" '[2,60000000]' "$(value '.coroutine_births[]|select(.body|startswith("handle"))|[.coroutines,.running_ns]' --coroutines)"
same "threads" '["10",100000000,0,9]' "$(value '.threads[0]|[.tid,.self_ns,.idle_ns,.calls]' --threads)"
same "timeline" 100000000 "$(value '[.timeline[]|select(.kind=="thread").busy_ns]|add' --timeline)"
same "timeline of a function" 36000000 "$(value '[.timeline[]|select(.lane=="cache" or .lane=="check").busy_ns]|add' --timeline)"
"$analyze" --timeline --width 80 "$trace" | LC_ALL=C grep -aq "^cache? .*|.*█.*|$" || fail "no lane in the timeline"
"$analyze" --info "$trace" | grep >/dev/null "2023-11-14 22:13:20.000000 UTC" || fail "--info: no date"

# Every view as data: as many rows in JSON as in CSV, with the same keys.
for view in report tree "callers check" "callees handle" "hist handle" "slow handle" coroutines threads timeline info; do
  # shellcheck disable=SC2086
  "$analyze" --csv --limit 0 --$view "$trace" >"$scratch/csv"
  # shellcheck disable=SC2086
  rows=$(value ".${view%% *}|length" --limit 0 --$view)
  [ "$rows" -gt 0 ] || fail "--json --$view has no rows"
  if [ "$view" != coroutines ]; then
    same "rows of --$view" $((rows + 1)) "$(wc -l <"$scratch/csv")"
    # shellcheck disable=SC2086
    same "columns of --$view" "$(value ".${view%% *}[0]|keys_unsorted|join(\",\")" --limit 0 --$view)" "\"$(head -n 1 "$scratch/csv")\""
  fi
done

# Several tables are one in CSV: each line has a value, or nothing, for each key of the first one.
"$analyze" --csv --report --coroutines --threads --info "$trace" >"$scratch/csv"
python3 - "$scratch/csv" <<'PY' || fail "--csv of several tables"
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1]), restkey="more"))
assert all("more" not in row and None not in row.values() for row in rows)
views = [row["view"] for row in rows]
assert list(dict.fromkeys(views)) == ["info", "report", "coroutine_births", "coroutines", "threads"], views
assert sum(int(row["self_ns"]) for row in rows if row["view"] == "report") == 100000000
assert [row["tid"] for row in rows if row["view"] == "threads"] == ["10"]
assert [row["tid"] for row in rows if row["view"] == "report"][0] == ""
PY

# No cell is a formula to a spreadsheet, numbers are what they are; quotes as in --format csv.
sed "s#@plugins/cache/init.lua#=cmd|' /C calc'!A0#; s#@plugins/auth/init.lua#-1,\"x\"#" "$trace" >"$scratch/formula.txt"
for way in "--csv --report --limit 0" "--csv --tree --limit 0" "--csv --coroutines" "--format csv"; do
  # shellcheck disable=SC2086
  "$analyze" $way "$scratch/formula.txt" >"$scratch/csv"
  python3 - "$scratch/csv" <<'PY' || fail "$way: a formula: $(cat "$scratch/csv")"
import csv, sys
cells = [cell for row in csv.reader(open(sys.argv[1]), strict=True) for cell in row]
assert len(cells) > 20 and all(c[:1] not in "=+-@" or not c for c in cells), cells
PY
done
"$analyze" --csv --report --limit 0 "$scratch/formula.txt" | grep -F >/dev/null "cache,'=cmd|' /C calc'!A0,7,lua,1" || fail "--csv: a chunk that begins like a formula"
"$analyze" --csv --diff "$trace" "$scratch/formula.txt" | grep >/dev/null ',-[0-9]' || fail "--csv: a negative number is none any more"

# Filters.
shows "1,36000000,26000000,$cache" --report $f -F cache
hides handle --report $f -F cache
same "-F: the rest is filtered" '[36000000,64000000]' "$(value '.trace|[.self_ns,.filtered_ns]' -F cache)"
hides check --report $f -N cache
same "-N" 36000000 "$(value .trace.filtered_ns -N cache)"
shows "1,10000000,10000000,$check" --report $f -C check
shows "1,10000000,0,$cache" --report $f -C check
shows "1,10000000,0,$handle" --report $f -C check
hides poll --report $f -C check
shows "2,60000000,42000000,$handle" --report $f -H cache   # 16 + 26
hides cache --report --fields=calls -H cache --limit 0
shows "2,60000000,60000000,$handle" --report $f -D 2
hides "$auth" --report $f -D 2
shows "2,60000000,24000000,$handle" --report $f -t 10ms    # 16 + auth 2 + gsub 4 + wait 2
hides "$auth" --report $f -t 10ms
hides "$wait" --report $f -t 10ms
shows "2,110000000,24000000,$handle" --report --fields=calls,wall,self -t 10ms
shows "1,40000000,4000000,$handle" --report $f -r 10ms~50ms
shows "1,40000000,4000000,$handle" --report $f -r 10%~50%
shows "1,40000000,4000000,$handle" --report $f -r @1700000000.010~2023-11-14T22:13:20.05
same "-r: traced" 40000000 "$(value .trace.traced_ns -r 10ms~50ms)"
shows "1,6000000,6000000,$auth" --report $f --kind lua
shows "1,4000000,4000000,$gsub" --report $f --kind builtin
same "--coroutine" 40000000 "$(value .trace.self_ns --coroutine 3)"
same "--coroutine with state" 20000000 "$(value .trace.self_ns --coroutine 1:2)"
same "--state" 0 "$(value .trace.self_ns --state 2)"
same "--thread" 100000000 "$(value .trace.self_ns --thread 10)"
shows "1,10000000,10000000,$poll" --report $f --function poll --function check
same "--function" '["check","poll"]' "$(value '[.functions[].name]|sort' --function poll --function check)"
same "filters combine" 10000000 "$(value .trace.self_ns -F handle -N auth --coroutine 3 -C check)"
same "with folded stacks" "cache (plugins/cache/init.lua:7) 26000000" "$("$analyze" --folded -F cache -N check "$trace")"
same "a file as standard input" "$("$analyze" --folded -r 10%~ "$trace")" "$("$analyze" --folded -r 10%~ - <"$trace")"

# Groups: one grammar for patterns, whatever they are for.
for pattern in 'plugins/([^/]+)/' '/plugins/([^/]+)//' '*plugins/*/*' 'plugins/*/init.lua'; do
  same "by $pattern" '[["[other]",56000000],["cache",26000000],["auth",18000000]]' \
    "$(value '[.report[]|[.name,.self_ns]]' --report --group-by "$pattern")"
done
same "by the part of a glob" '["[other]","lugins/cache/init.lua","lugins/auth/init.lua"]' "$(value '[.report[].name]' --report --group-by 'p*')"
same "by plugin" '[["[other]",56000000],["cache",26000000],["auth",18000000]]' \
  "$(value '[.report[]|[.name,.self_ns]]' --report --group-by 'plugins/([^/]+)/')"
same "by file" '[["server.lua",56000000],["plugins/cache/init.lua",26000000],["plugins/auth/init.lua",14000000],["[builtin]",4000000]]' \
  "$(value '[.report[]|[.name,.self_ns]]' --report --group-by file)"
same "by coroutine" '[["coroutine 1:1 (pid 10)",40000000],["coroutine 1:3 (pid 10)",40000000],["coroutine 1:2 (pid 10)",20000000]]' \
  "$(value '[.report[]|[.name,.self_ns]]' --report --group-by coroutine)"
for what in thread coroutine state file 'plugins/([^/]+)/'; do
  same "sum of self by $what" 100000000 "$(value '[.functions[].self_ns]|add' --group-by "$what")"
  same "rows by $what" 100000000 "$(value '[.report[].self_ns]|add' --report --limit 0 --group-by "$what")"
  "$analyze" -q --save-profile "$scratch/group.prof" --group-by "$what" "$trace"
  same "kept by $what" "$(value .report --report --group-by "$what")" "$("$analyze" --json --report "$scratch/group.prof" | jq -c .report)"
done
same "by state" '["state 1 (pid 10)"]' "$(value '[.report[].name]' --report --group-by state)"
same "separate stacks" 40000000 "$(value '.tree[]|select(.name=="main chunk").total_ns' --tree --coroutines=separate)"
same "merged stacks" 60000000 "$(value '.tree[]|select(.name=="[coroutines]").total_ns' --tree --coroutines=merged)"
same "linked stacks" 100000000 "$(value '.tree[]|select(.name=="main chunk").total_ns' --tree --coroutines=linked)"
same "[yielded]" 50000000 "$(value '.tree[]|select(.name=="wait").yielded_ns' --tree --yielded)"
"$analyze" --folded --yielded "$trace" | grep -x >/dev/null ".*wait (plugins/auth/init.lua:50);\[yielded\] 50000000" || fail "--folded --yielded"

# --compensate: 0.5 ms for each event. gsub: 4 ms - 1 call; auth: 2 ms - own call - gsub's.
same "corrected" '[3500000,3500000,""]' \
  "$(value '.report[]|select(.name=="string.gsub")|[.total_corrected_ns,.self_corrected_ns,.rough]' --report --compensate)"
same "corrected functions" '[["string.gsub",3500000,3500000,false],["auth",4500000,1000000,true]]' \
  "$(value '[.functions[]|select(.name=="string.gsub" or .name=="auth")|[.name,.running_corrected_ns,.self_corrected_ns,.rough]]|sort_by(.[3])' --compensate)"
same "of all" "$(value '[.report[]|[.name,.line,.total_corrected_ns,.self_corrected_ns,.rough=="!"]]|sort' --report --limit 0 --compensate)" \
  "$(value '[.functions[]|[if .line==0 and .kind=="lua" then "main chunk" else .name end,.line,.running_corrected_ns,.self_corrected_ns,.rough]]|sort' --compensate)"
for view in --report --tree; do
  same "$view says what its marks mean" 1 "$("$analyze" $view --compensate "$trace" | grep -c "' without the cost of recording; !: more than")"
  same "$view has no marks" 0 "$("$analyze" $view "$trace" | grep -c "' without the cost of recording")"
done
same "nothing is corrected without --compensate" '[]' "$(value '[.functions[]|keys[]|select(test("corrected|rough"))]')"
same "rough" '[1000000,"!"]' \
  "$(value '.report[]|select(.name=="auth")|[.self_corrected_ns,.rough]' --report --compensate)"

# Saved profiles, merging, comparing.
cd "$scratch"
"$analyze" -q --save-profile one.prof "$trace"
"$analyze" --json one.prof >a && "$analyze" --json --save-profile same.prof "$trace" >b
same "profile and trace" "$(jq -c '[(.functions|sort_by(.chunk,.line,.name)),.trust,.trace.self_ns]' <b)" "$(jq -c '[(.functions|sort_by(.chunk,.line,.name)),.trust,.trace.self_ns]' <a)"
cmp one.prof same.prof || fail "two profiles of one trace differ"
"$analyze" -q --save-profile sum1 one.prof "$trace" && "$analyze" -q --save-profile sum2 "$trace" one.prof
cmp sum1 sum2 || fail "the order of merging matters"
same "merged" 4 "$("$analyze" --json sum1 | jq '.functions[]|select(.name=="handle").calls')"
refuses "one.prof: a saved profile has no events, which a filter needs: give the trace that it was made from, or filter" "$analyze" -F cache one.prof
refuses "which --timeline needs: give the trace" "$analyze" --timeline one.prof
refuses "which --format perfetto needs" "$analyze" --format perfetto -o x one.prof
refuses "one.prof: a saved profile has no events: --dump needs the trace" "$analyze" --dump one.prof
refuses "one.prof: a saved profile has no events: --convert needs the trace" "$analyze" --convert=x one.prof
head -c 200 one.prof >cut.prof
refuses "cut.prof: damaged profile" "$analyze" cut.prof

sed -e '/entry 7/d; /return 7/d; s/^48 1 return 5/38 1 return 5/' \
  -e '/^func 1:8/a func 1:9 lua line=60 chunk="@server.lua" name="fresh"' \
  -e 's/^60 1 resume 2/50 1 entry 9\n60 1 return 9\n60 1 resume 2/' -e 's/events=27/events=27/' "$trace" >after.txt
same "diff" '[["cache",26000000,16000000,-10000000,""],["fresh",null,10000000,10000000,"added"],["handle",16000000,26000000,10000000,""],["poll",10000000,null,-10000000,"vanished"]]' \
  "$("$analyze" --json --diff "$trace" after.txt | jq -c '[.diff[]|[.name,.self_before_ns,.self_ns,.self_delta_ns,.status]]|[.[]|select(.[3]!=0)]|sort')"
same "diff tree" '["added"]' "$("$analyze" --json --tree --diff one.prof after.txt | jq -c '[.diff_tree[]|select(.name=="fresh").status]')"
same "not there in the diff tree" '[null,null,null,true,true,true]' "$("$analyze" --json --tree --diff one.prof after.txt | jq -c '[.diff_tree[]|select(.name=="fresh")]|[.[0]|.total_before_ns,.self_before_ns,.calls_before,.total_ns>0,.self_ns>0,.calls>0]')"
# What leads to a difference counts as a row, also if it has none of its own (handle calls what took more and what took less).
for n in 1 2 3 4 5 6 7 8; do
  same "rows of a diff tree" "[$n,true]" "$("$analyze" --json --tree --limit $n --diff one.prof after.txt |
    jq -c '.diff_tree|[length,([.[].node] as $nodes|all(.[];.parent as $p|$p==0 or any($nodes[];.==$p)))]')"
done
same "what of the diff tree is left out" "(3 more branches: --limit 0 shows all)" "$("$analyze" --tree --limit 1 --diff one.prof after.txt | grep -o '(.*branches.*)')"
"$analyze" --folded --diff "$trace" after.txt | grep >/dev/null "poll (server.lua:40) 10000000 0$" || fail "--folded --diff"
same "normalised" 0 "$("$analyze" --json --normalize --diff one.prof sum1 | jq '[.diff[].self_delta_ns|fabs]|add')"

# Functions that were called before their description came: filters judge them by it, and what is one
# function does not run twice at a time.
late() { "$analyze" --json "${@:2}" "$data/late.txt" | jq -c "$1"; }
same "-F of a late one" '[20,80]' "$(late '.trace|[.self_ns,.filtered_ns]' -F late)"
same "-N of a late one" '[80,20]' "$(late '.trace|[.self_ns,.filtered_ns]' -N late)"
same "the file of a late one" '[["x.lua",80],["y.lua",20]]' "$(late '[.report[]|[.name,.self_ns]]' --report --group-by file)"
same "--slow of a late one" '[20]' "$(late '[.slow[].running_ns]' --slow late)"
same "one function" '[["f",4,80,100]]' "$(late '[.functions[]|select(.name=="f")|[.name,.calls,.self_ns,.running_ns]]')"
same "one row of a slow call" '[["f",1,40],["f",2,30],["f",1,10],["late",1,20]]' "$(late '[.slow[]|[.name,.calls,.self_ns]]' --slow f)"

# Time that -t takes from all is filtered out for its thread, too.
thread() { "$analyze" --json --threads --timeline "$@" "$scratch/chain.txt" | jq -c '[.threads[0]|.self_ns,.filtered_ns,.calls],[.timeline[]|select(.kind=="thread").busy_ns]'; }
same "-t and threads" '[0,79,0]
[]' "$(thread -t 1us)"
same "-t and threads, some are left" '[79,0,20]' "$(thread -t 41 | head -n 1)"

# --fail-if
check() { local status=0; "$analyze" -q "$@" >out 2>&1 || status=$?; echo $status; }
same "not true" 0 "$(check --fail-if 'self(cache) > 30%' "$trace")"
same "true" 4 "$(check --fail-if 'self(cache) > 25%' "$trace")"
grep -q "self(cache) > 25%" out || fail "--fail-if does not say what is true"
same "change" 4 "$(check --diff one.prof --fail-if 'change(self(handle)) > 10%' after.txt)"
same "no change" 0 "$(check --diff one.prof --fail-if 'change(self(handle)) > 100%' after.txt)"
refuses "change\(\) needs --diff" "$analyze" --fail-if 'change(self(x)) > 1%' "$trace"
refuses "no function of the trace fits 'nobody'" "$analyze" --callers nobody "$trace"
refuses "no regular expression" "$analyze" -F '/(/' "$trace"
refuses "'5 x' is no time" "$analyze" -t '5 x' "$trace"
same "hours" 4 "$(check --fail-if 'self(*) < 1h' "$trace")"

# What was asked for and is not there is said, with what may have been meant.
says() {  # STATUS TEXT ARGUMENT...
  local status=0
  "$analyze" -q "${@:3}" "$trace" >"$scratch/out" 2>"$scratch/err" || status=$?
  [ $status = "$1" ] && grep -qF -- "$2" "$scratch/err" || fail "${*:3}: status $status, not $1; no '$2' in: $(cat "$scratch/err")"
}
silent() {
  "$analyze" -q "$@" "$trace" 2>"$scratch/err" >/dev/null && [ ! -s "$scratch/err" ] || fail "$*: $(cat "$scratch/err")"
}
says 0 "-F 'hndle': no function of the trace fits; did you mean 'handle'?" -F hndle
says 0 "-N 'Cache': no function of the trace fits; did you mean 'cache'?" -N Cache -F handle
says 0 "-C 'server.lua:1': no function of the trace fits; did you mean 'server.lua:0', 'server.lua:10' or 'server.lua:40'?" -C server.lua:1
says 0 "-H 'nobody': no function" -H nobody
says 0 "--function '/^gubs/'" --function '/^gubs/'
says 0 "--thread 11: no such thread; there is 10" --thread 11
says 0 "--state 7: no such Lua state; there is 1" --state 7
says 0 "--coroutine 9: nothing ran in such a coroutine" --coroutine 9
says 0 "--coroutine 2:3: nothing ran in such a coroutine" --coroutine 2:3
says 0 "--kind c: the trace has no functions of this kind" --kind c
says 0 "-r: nothing was recorded in that time; the trace is from 0 s to 0.1 s" -r 1h~
says 0 "-t leaves nothing: no call ran as long as that" -t 1h
says 0 "no call fits all of them" -F poll --coroutine 2
says 0 "--group-by 'threads': no file of the trace fits, so all is [other]; did you mean 'thread'?" --group-by threads
says 1 "no function of the trace fits 'handel'; did you mean 'handle'?" --callers handel
says 1 "no function of the trace fits 'handel'; did you mean 'handle'?" --slow handel
# What filters hide is not said to be missing, and to a condition it is 0.
left="nothing is left of"
says 1 "no function that the filters show fits 'handle': $left handle  (server.lua:10)" --callers handle -F poll
says 1 "no function that the filters show fits 'wait': $left wait" --callees wait -H wait
says 1 "no function that the filters show fits 'wait': $left wait" --hist wait -t 3ms
says 1 "no function that the filters show fits 'wait': $left wait" --slow wait -D 2
says 1 "fits 'wait': $left wait  (plugins/auth/init.lua:50), or it is part of a group" --callers wait --group-by file
says 1 "no function of the trace fits 'handel'; did you mean 'handle'?" --callers handel -F poll
same "filtered away is 0" 0 "$(check -t 3ms --fail-if 'calls(wait) > 0' "$trace")"
same "filtered away is 0, and true" 4 "$(check -t 3ms --fail-if 'calls(wait) < 1' "$trace")"
silent -F cache -N auth --thread 10 --state 1 --coroutine 1:3 --kind lua -r 0~1h -t 1ns -H 'w*' --function '*'
silent --group-by 'plugins/([^/]+)/'
# What is in one of several files is there.
"$analyze" -q -F fresh "$trace" after.txt 2>"$scratch/err" && [ ! -s "$scratch/err" ] || fail "-F of the second file: $(cat "$scratch/err")"

# A condition on a function that is not there is an error, unless that is said to be right.
says 1 "--fail-if: no function of the trace fits 'hndle'; did you mean 'handle'? (--allow-missing: it counts as 0)" --fail-if 'self(hndle) > 20%'
says 1 "fits 'hndle'" --fail-if 'self(handle) > 99% or self(hndle) > 20%'
says 1 "fits 'hndle'" --fail-if 'self(handle) > 99% and self(hndle) > 20%'
says 4 "fits 'hndle'" --fail-if 'self(hndle) > 20%' --fail-if 'calls(handle) > 1'
silent --fail-if 'self(hndle) > 20%' --allow-missing
says 4 "true: calls(hndle) < 1" --fail-if 'calls(hndle) < 1' --allow-missing
same "in one of two" 0 "$(check --diff after.txt --fail-if 'self(fresh) > 20%' "$trace")"
# Where groups stand in place of functions their names are what there is.
says 1 "part of a group (--allow-missing: it counts as 0)" --group-by file --fail-if 'self(wait) > 0%'
says 1 "--fail-if: no group fits 'servr.lua'; did you mean 'server.lua'?" --group-by file --fail-if 'self(servr.lua) > 0%'
says 1 "--fail-if: no group fits 'handel' (--allow" --group-by file --fail-if 'self(handel) > 0%'
says 4 "true: self(server.lua) > 0%" --group-by file --fail-if 'self(server.lua) > 0%'
says 4 "true: self(handle) > 0%" --group-by coroutine --fail-if 'self(handle) > 0%'
silent --group-by file --allow-missing --fail-if 'self(wait) > 0%'
says 1 "self is a time, and the number has no unit" --fail-if 'self(handle) > 20'
says 1 "calls is a count" --fail-if 'calls(handle) > 20ms'
says 1 "--allow-missing belongs to --fail-if" --allow-missing
refuses "may be given only once" "$analyze" -D 1 -D 2 "$trace"
refuses "'D' is none of lua, c, builtin" "$analyze" --kind D "$trace"

# Names of any length do not push figures out of their columns; file and line stay in sight.
name=$(printf 'd%.0s' {1..1022})
sed "s|@plugins/auth/init.lua|@$name|" "$trace" >"$scratch/long.txt"
for view in --report --tree --coroutines "--callees handle" --timeline; do
  # shellcheck disable=SC2086
  "$analyze" $view --width 140 "$scratch/long.txt" >"$scratch/out"
  [ "$(wc -L <"$scratch/out")" -le 140 ] || fail "$view: $(wc -L <"$scratch/out") columns instead of 140"
done
"$analyze" --report --width 110 "$scratch/long.txt" | grep >/dev/null '^.*wait?  (.*\.\.\..*ddd:50)$' || fail "a name is not cut in its middle"
"$analyze" --coroutines "$scratch/long.txt" | grep >/dev/null '^ *1 .*  open  .*  main chunk$\|main chunk  (server.lua:0)$' || fail "--coroutines in a pipe"

# In a narrow terminal whole columns are left out, and that is said.
cp "$trace" short.txt  # Words are not broken.
for view in --report --tree --coroutines --threads "--callees handle" "--hist handle" "--slow handle" --info "-q --report"; do
  # shellcheck disable=SC2086
  "$analyze" $view --width 40 short.txt >"$scratch/out"
  [ "$(LC_ALL=C.UTF-8 wc -L <"$scratch/out")" -le 40 ] || fail "$view is wider than 40: $(cat "$scratch/out")"
done
# The difference is the point of a comparison: other columns go first, those of other fields before
# those of the field by which rows are sorted.
sed 's/mult=1000000 /mult=1234567891 /' "$trace" >long.txt
narrow() { "$analyze" --width 40 --diff long.txt "$@" short.txt | head -n 2 | sed 's/  */ /g; s/^ //; s/ $//' | tr '\n' ';'; }
same "--diff in 40 columns" "self was is delta function;37.0 s 30.0 ms -37.0 s main chunk;" "$(narrow)"
same "--tree --diff in 40 columns" "total is delta function;100 ms -123 s main chunk;" "$(narrow --tree)"
same "--sort total in 40 columns" "total is delta function;100 ms -123 s main chunk;" "$(narrow --sort total)"
same "--sort calls in 40 columns" "calls was is delta % function;1 1 +0 +0.0 auth?;" "$(narrow --sort calls)"
# Of several figures of one field none stays alone, and what is left out is said by its full name.
"$analyze" --width 60 --sort total --diff long.txt short.txt >"$scratch/out"
head -n 1 "$scratch/out" | grep -q "self" && fail "a lone column: $(cat "$scratch/out")"
tr '\n' ' ' <"$scratch/out" | sed 's/  */ /g' >"$scratch/note"
grep -qF "(no room for self was, self is, self delta, self %, " "$scratch/note" || fail "what is left out: $(cat "$scratch/out")"
grep -qF "calls %, status; all: --width 0)" "$scratch/note" || fail "what is left out: $(cat "$scratch/out")"
sed -i 's/mult=1234567891 /mult=12345678910000 /' long.txt
same "long times in 40 columns" "self is delta function;30.0 ms -370370 s main chunk;" "$(narrow)"
"$analyze" --report --width 40 "$trace" | tr '\n' ' ' | grep >/dev/null "  (no room for .*p99, *max; *all: --width 0)" || fail "columns left out unsaid"
"$analyze" --width 60 "$trace" | grep >/dev/null "^trust: .*none lost, nothing unbalanced, truncated,$" || fail "the trust line is not broken at a blank"
"$analyze" --info --width 70 "$trace" >"$scratch/out"
head -n 1 "$scratch/out" | grep -q "^trace  *." || fail "--info does not begin with the trace: $(head -n 2 "$scratch/out")"
grep -q '\.\.\.' "$scratch/out" && fail "--info leaves something out: $(cat "$scratch/out")"
"$analyze" --report --width 200 "$trace" | grep >/dev/null "no room" && fail "columns left out for nothing"

# What cannot be written is no success, and not said to be written.
for way in --help --version --report --json --csv --folded --dump --tree; do
  status=0
  "$analyze" $way "$trace" >/dev/full 2>"$scratch/err" || status=$?
  [ $status = 2 ] && grep -q "standard output: cannot write: No space left" "$scratch/err" || fail "$way on a full disk: $status $(cat "$scratch/err")"
done
"$analyze" --page=/dev/full "$trace" >"$scratch/out" 2>"$scratch/err" && fail "a page on a full disk"
grep -q "flame graph:" "$scratch/out" && fail "says that it wrote the page"
"$analyze" --json="$scratch/closed.json" "$trace" >&- 2>"$scratch/err" && fail "good without a standard output"
jq -e . "$scratch/closed.json" >/dev/null || fail "the summary is in the file"

# A recording cannot be repeated: it is not overwritten by what is made of it.
cp "$trace" "$scratch/own.bin"
for way in --json= --csv= --folded= --flame= --save-profile= "--format=pprof --output=" "--format=chrome --output="; do
  status=0
  # shellcheck disable=SC2086
  "$analyze" -q "$scratch/own.bin" $way"$scratch/own.bin" 2>"$scratch/err" || status=$?
  [ $status = 1 ] && grep -q "own.bin would be overwritten" "$scratch/err" || fail "$way of its own input: $status $(cat "$scratch/err")"
  cmp -s "$trace" "$scratch/own.bin" || fail "$way destroys its own input"
done

script -qec "$analyze --format pprof $trace; echo status \$?" /dev/null </dev/null >"$scratch/out"
grep -q "is nothing to read on a terminal: say -o FILE" "$scratch/out" && grep -q "status 1" "$scratch/out" || fail "pprof on a terminal: $(head -c 300 "$scratch/out")"

# Colour only where it is wanted.
export TERM=xterm
"$analyze" --color=always --report "$trace" | grep >/dev/null $'\033' || fail "--color=always"
"$analyze" --report "$trace" | grep >/dev/null $'\033' && fail "colour in a pipe"
script -qec "$analyze --report $trace 2>/dev/null" /dev/null </dev/null | grep >/dev/null $'\033' || fail "no colour on a terminal"
NO_COLOR=1 script -qec "$analyze --report $trace 2>/dev/null" /dev/null </dev/null | grep >/dev/null $'\033' && fail "NO_COLOR"
TERM=dumb script -qec "$analyze --report $trace 2>/dev/null" /dev/null </dev/null | grep >/dev/null $'\033' && fail "TERM=dumb"
script -qec "stty cols 90; $analyze --report $trace 2>/dev/null" /dev/null </dev/null | tr -d '\r' | sed 's/\x1b\[[0-9;]*m//g' |
  grep -v '^trust' | awk 'length > 90 && /lua/ && !/\.\.\.$/ { bad = 1 } END { exit bad }' || fail "wider than the terminal"

# A group that has nothing of its own but calls that took no time.
"$analyze" --csv --tree --group-by coroutine "$2/no_time.txt" >"$scratch/csv" || fail "a group without time"
grep -q '^3,0,1,0,0,0,0,coroutine 1:2' "$scratch/csv" && grep -q '^4,3,2,1,0,0,0,f2,' "$scratch/csv" ||
  fail "calls are not below their group: $(cat "$scratch/csv")"

# Files that are called what coroutines are called, and coroutines nobody resumes any more.
cat >"$scratch/names.txt" <<'TRACE'
#luatrace-text 1
clock monotonic mult=1 shift=0
process 1 pid=7
stream 1 process=1 tid=7 recording=1
func 1:1 lua line=1 chunk="@x.lua" name="f1"
func 1:2 lua line=1 chunk="@coroutine x.lua" name="f2"
func 1:3 lua line=1 chunk="@coroutine 1:2 (pid 7)" name="f3"
func 1:4 lua line=1 chunk="@[coroutines]" name="f4"
0 1 start
0 1 ringblock co=1 tid=7 rec=1
0 1 entry 1
10 1 create 2
10 1 resume 2
10 1 entry 3
20 1 entry 2
30 1 return 2
40 1 return 3
40 1 suspend done
50 1 create 3
60 1 create 4
70 1 resume 4
70 1 entry 4
80 1 suspend yield
85 1 collect 3
90 1 collect 4
95 1 create 5
100 1 return 1
100 1 stop close
end exit=0
TRACE
named() { "$analyze" --json --report "$@" | jq -c '[.report[]|[.name,.self_ns]]|sort'; }
files='["[coroutines]",10],["coroutine 1:2 (pid 7)",20],["coroutine x.lua",10],["x.lua",60]'
same "files like coroutines" "[$files]" "$(named --group-by file "$scratch/names.txt")"
same "and coroutines" "[$files]" "$(named --group-by file --coroutines=separate "$scratch/names.txt")"
same "and merged ones" "[$files]" "$(named --group-by file --coroutines=merged "$scratch/names.txt")"
same "by pattern like coroutines" '[["[other]",90],["coroutine x",10]]' "$(named --group-by '^(coroutine x)' "$scratch/names.txt")"
same "by thread" '[["thread 7",100]]' "$(named --group-by thread --coroutines=separate "$scratch/names.txt")"
for way in "file" "file --coroutines=separate" "thread --coroutines=separate" "file --coroutines=merged"; do
  # shellcheck disable=SC2086
  "$analyze" -q --save-profile "$scratch/names.prof" --group-by $way "$scratch/names.txt"
  # shellcheck disable=SC2086
  same "kept by $way" "$(named --group-by $way "$scratch/names.txt")" "$(named "$scratch/names.prof")"
done
same "resumes" '[[1,0],[2,1],[3,0],[4,1],[5,0]]' \
  "$("$analyze" --json --coroutines "$scratch/names.txt" | jq -c '[.coroutines[]|[.coroutine,.resumes]]|sort')"

# 2 runs 15 ns without a call of its own; 3, resumed by 2, and both are left and come back by SWITCH.
cat >"$scratch/own.txt" <<'TRACE'
#luatrace-text 1
clock monotonic mult=1 shift=0
process 1 pid=7
stream 1 process=1 tid=7 recording=1
func 1:1 lua line=1 chunk="@x.lua" name="f1"
func 1:2 lua line=1 chunk="@y.lua" name="f2"
0 1 ringblock co=1 tid=7 rec=1
0 1 start
0 1 entry 1
10 1 create 2
20 1 resume 2
25 1 entry 2
30 1 return 2
40 1 create 3
40 1 resume 3
41 1 entry 2
42 1 switch 1
44 1 switch 3
45 1 return 2
45 1 suspend yield
45 1 resume 3
45 1 suspend done
45 1 suspend yield
50 1 return 1
60 1 stop close
end exit=0
TRACE
same "resumes and switches" '[[1,0],[2,1],[3,2]]' \
  "$("$analyze" --json --coroutines "$scratch/own.txt" | jq -c '[.coroutines[]|[.coroutine,.resumes]]|sort')"
for mode in separate merged; do
  for what in file 'x(.)lua'; do
    own=$("$analyze" --json --report --timeline --group-by "$what" --coroutines=$mode "$scratch/own.txt")
    same "$mode by $what: the sum is the whole" 50 "$(jq '[.report[].self_ns]|add' <<<"$own")"
    same "$mode by $what: lanes" "$(jq -c '[.report[]|[.name,.self_ns]]|sort' <<<"$own")" \
      "$(jq -c '[.timeline[]|select(.kind!="thread")]|group_by(.lane)|map([.[0].lane,(map(.busy_ns)|add)])' <<<"$own")"
  done
  own=$("$analyze" --json --report --group-by file --coroutines=$mode "$scratch/own.txt")
  same "$mode: a coroutine's own time" '[["[coroutines]",0,16,16],["x.lua",1,27,27],["y.lua",2,7,7]]' "$(jq -c '[.report[]|[.name,.calls,.total_ns,.self_ns]]|sort' <<<"$own")"
done

# A call of a coroutine that began before the slow call, or goes on after it: of its time the slow
# call has what ran in it; the call itself is one of those that it made if it began in it.
slow_of() {
  { sed '/^0 1 entry 1/q' "$scratch/own.txt"; echo '20 1 resume 2'; cat; printf '110 1 return 1\n110 1 stop close\nend exit=0\n'; } |
    sed '/^func 1:2/a func 1:3 lua line=1 chunk="@z.lua" name="f3"' | "$analyze" -q --json --slow f3 -t 20ns - | jq -c '[.slow[]|[.name,.calls,.self_ns]]'
}
same "a call that began before" '[["f3",1,20],["f2",0,10]]' \
  "$(printf '%s\n' '20 1 entry 2' '60 1 suspend yield' '70 1 entry 3' '75 1 resume 2' '85 1 return 2' '85 1 suspend done' '100 1 return 3' | slow_of)"
same "a short one that began before" '[["f3",1,30]]' \
  "$(printf '%s\n' '20 1 entry 2' '25 1 suspend yield' '70 1 entry 3' '75 1 resume 2' '85 1 return 2' '85 1 suspend done' '100 1 return 3' | slow_of)"
same "a call that goes on" '[["f3",1,20],["f2",1,35]]' \
  "$(printf '%s\n' '20 1 suspend yield' '20 1 entry 3' '25 1 resume 2' '25 1 entry 2' '60 1 suspend yield' '75 1 return 3' '80 1 resume 2' '85 1 return 2' '85 1 suspend done' | slow_of)"

# Short calls within each other that went through many threads: their pieces of time are not kept
# once for each of them.
python3 - "$scratch/deep.txt" "$analyze" <<'PY' || fail "memory of calls that go through threads"
import resource, subprocess, sys
depth = 3000
with open(sys.argv[1], "w") as out:
    out.write('#luatrace-text 1\nclock monotonic mult=1 shift=0\nprocess 1 pid=7\n'
              'stream 1 process=1 tid=7 recording=1\nfunc 1:1 lua line=1 chunk="@x.lua" name="f1"\n'
              '0 1 start\n0 1 ringblock co=1 tid=7 rec=1\n')
    for i in range(depth):
        out.write(f"{i} 1 entry 1\n")
    for i in range(depth):
        out.write(f"{depth + i} 1 thread {100 + i}\n")
    for i in range(depth):
        out.write(f"{2 * depth} 1 return 1\n")
    out.write("end exit=0\n")
def megabytes(view, *more):  # The greatest so far, of those that were waited for.
    subprocess.run([sys.argv[2], "-q", *more, view, sys.argv[1]], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
for view in "--threads", "--timeline":
    plain, short = megabytes(view), megabytes(view, "-t", "1s")
    assert short < plain + 64, (view, plain, short)
PY
exit 0
