#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Traces and saved profiles that are added up or compared: a message names, or refuses, those
# with different filters or groups, and the order of adding makes no difference.
#   merging_test.sh LUATRACE-ANALYZE DATA
. "$(dirname "$0")/../lib.sh"
analyze=$1
cd "$scratch"
cp "$2/requests.txt" t.txt
cp "$2/older.profile" older.p  # t.txt --group-by file, by a version that did not save the grouping.
save() { "$analyze" -q --save-profile "$@" t.txt; }
save plain.p && save plain2.p && save file.p --group-by file && save file2.p --group-by file
save thread.p --group-by thread && save plugin.p --group-by 'plugins/([^/]+)/'
save handle.p -F handle && save handle2.p -F handle && save apart.p --coroutines=separate
save many.p -t 1500us -F handle -F cache -F handle --kind builtin --kind lua -r 0~50% --coroutine 1:2

# Groups and functions are not added up, nor compared.
mixed() {  # TEXT FILE...
  refuses "^luatrace-analyze: $1: such sums cannot be added up or compared; make both with the same --group-by " "$analyze" "${@:2}"
  [ ! -s out ] || fail "${*:2}: $(cat out)"
}
mixed "file.p is grouped by 'file', plain.p is not grouped" plain.p file.p
mixed "plain.p is not grouped, file.p is grouped by 'file'" file.p plain.p
mixed "t.txt is not grouped, file.p is grouped by 'file'" file.p t.txt
mixed "thread.p is grouped by 'thread', file.p is grouped by 'file'" file.p thread.p
mixed "plugin.p is grouped by 'plugins/\(\[\^/\]\+\)/', file.p is grouped by 'file'" file.p file2.p plugin.p
mixed "plain.p is not grouped, file.p is grouped by 'file'" file.p --diff plain.p
mixed "file.p is grouped by 'file', t.txt is not grouped" t.txt --diff file.p

# Different filters are reported, once.
warns() {  # TEXT ARGUMENT...
  "$analyze" -q "${@:2}" >out 2>err || fail "${*:2}: $(cat err)"
  same "${*:2}" "${1:+luatrace-analyze: files with different filters are added up or compared: $1}" "$(cat err)"
}
warns "" plain.p plain2.p t.txt
warns "" file.p file2.p --report
warns "" handle.p handle2.p
warns "" handle.p --diff handle2.p --report
warns "plain.p: without filters; handle.p: with -F handle" plain.p handle.p
warns "plain.p: without filters; handle.p, handle2.p: with -F handle" handle.p plain.p handle2.p
warns "t.txt: without filters; handle.p: with -F handle" t.txt --diff handle.p --report
warns "plain.p: without filters; apart.p: with --coroutines=separate" apart.p plain.p
warns "plain.p: without filters; many.p: with -F cache -F handle --kind builtin --kind lua -t 1500us -r 0ns~50% --coroutine 1:2" many.p plain.p
cp plain.p 3.p && cp plain.p 4.p && cp plain.p 5.p
warns "plain.p, plain2.p, 3.p and 2 more: without filters; handle.p: with -F handle" plain.p plain2.p 3.p 4.p 5.p handle.p
# However many there are, and however long.
for i in 1 2 3 4 5; do save r$i.p -r ${i}0%~; done
warns "plain.p: without filters; r1.p: with -r 10%~; r2.p: with -r 20%~; and 3 more sets of filters" plain.p r?.p
save long.p -F handle -F "$(printf 'x%.0s' {1..5000})" 2>err
"$analyze" -q plain.p long.p 2>err || fail "a long filter: $(cat err)"
[ "$(wc -c <err)" -lt 500 ] || fail "a long filter: $(wc -c <err) bytes"
save quote.p -F "it's" 2>err
same "--info of a quote" "[\"-F 'it'\\\\''s'\"]" "$("$analyze" --json --info quote.p | jq -c '[.info[]|select(.what=="filters").value]')"
# A profile without its grouping is reported.
unknown() {
  "$analyze" -q "${@:2}" >out 2>err || fail "${*:2}: $(cat err)"
  grep -qE "^luatrace-analyze: unknown --group-by of $1 \(profiles of older versions" err || fail "${*:2}: $(cat err)"
  same "${*:2}: messages" 1 "$(wc -l <err)"
}
warns "" older.p
unknown older.p older.p thread.p
unknown older.p file.p --diff older.p --report
cp older.p older2.p
unknown "older.p, older2.p" older.p older2.p
mixed "plain.p is not grouped, older.p is grouped" older.p plain.p

# What was added up is still known when it is added up again, as is what was saved.
"$analyze" -q --save-profile both.p plain.p handle.p 2>err && "$analyze" -q both.p 2>err || fail "both: $(cat err)"
same "both" "luatrace-analyze: files with different filters are added up or compared: both.p: without filters; both.p: with -F handle" "$(cat err)"
same "--info" '["-F handle"]' "$("$analyze" --json --info handle.p | jq -c '[.info[]|select(.what=="filters").value]')"
same "--json" '["","-F handle"]' "$("$analyze" --json handle.p | jq -c '.trace.files[0]|[.group_by,.filters]')"

# Traces added up, and profiles of them added up: the same, but for where it came from.
sed 's/^48 1 return 5/38 1 return 5/; s/cost_ps=500000000/cost_ps=333333333/; s/mult=1000000/mult=1000003/' t.txt >u.txt
sed '/entry 6/d; /return 6/d; s/cost_ps=500000000/cost_ps=111111111/; s/@plugins.cache/@aaa/' t.txt >v.txt
# Functions with equal times and calls.
{ cat t.txt | sed '/^100 1 return/,$d'; echo 'func 1:20 lua line=7 chunk="@z.lua" name="twin"'; echo 'func 1:21 lua line=7 chunk="@b.lua" name="twin"'
  echo 'func 1:22 lua line=3 chunk="@b.lua" name="twin"'; echo 'func 1:23 lua line=4 chunk="@b.lua" name="early"'
  for f in 20 21 22 23; do echo "9$((f - 20)) 1 entry $f"; echo "9$((f - 19)) 1 return $f"; done; printf '100 1 return 1\n100 1 stop close\nend streams=1 exit=0\n'; } >w.txt
sed 's/entry 20/entry x/; s/entry 23/entry 20/; s/entry x/entry 23/; s/return 20/return x/; s/return 23/return 20/; s/return x/return 23/' w.txt >x.txt
views=(-q --report --fields calls,inclusive,self,p50 --tree --suspended --callers twin --callees '/./' --hist '*' --limit 0 --compensate)
for f in t u v w x; do "$analyze" -q --save-profile $f.p $f.txt; done
for order in "t u v w x" "x w v u t" "w t x v u"; do
  read -ra files <<<"$order"
  "$analyze" --json "${views[@]}" "${files[@]/%/.txt}" 2>/dev/null | jq 'del(.trace.files)' >traces
  "$analyze" --json "${views[@]}" "${files[@]/%/.p}" 2>/dev/null | jq 'del(.trace.files)' >profiles
  diff traces profiles >out || fail "traces and their profiles in the order $order: $(head -n 20 out)"
  [ -e first ] || cp traces first
  diff first traces >out || fail "the order $order: $(head -n 20 out)"
  for sort in self name; do
    "$analyze" --json --diff t.txt --tree --report --limit 0 --sort $sort "${files[@]/%/.txt}" | jq 'del(.trace.files)' >traces
    "$analyze" --json --diff t.p --tree --report --limit 0 --sort $sort "${files[@]/%/.p}" | jq 'del(.trace.files)' >profiles
    diff traces profiles >out || fail "a comparison in the order $order: $(head -n 20 out)"
    [ -e $sort.first ] || cp traces $sort.first
    diff $sort.first traces >out || fail "a comparison in the order $order: $(head -n 20 out)"
  done
  for limit in 0 3; do
    single=(-q --coroutines --threads --slow '*' --limit $limit)
    "$analyze" --json "${single[@]}" "${files[@]/%/.txt}" 2>/dev/null | jq 'del(.trace.files)' >traces
    [ -e single.$limit ] || cp traces single.$limit
    diff single.$limit traces >out || fail "single calls in the order $order: $(head -n 20 out)"
  done
done
same "equal rows" '["early","b.lua:3","b.lua:7","z.lua:7"]' \
  "$("$analyze" --json --report --limit 0 x.txt | jq -c '[.report[]|select(.self_ns==1000000)|if .name=="twin" then (.chunk[1:]+":"+(.line|tostring)) else .name end]')"
