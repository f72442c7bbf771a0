#!/bin/bash
# SPDX-License-Identifier: MIT
# The options of exports: names of frames, places, and what is refused.
#   cli.sh LUATRACE_ANALYZE
source "$(dirname "$0")/../lib.sh"
analyze=$1 here=$(cd "$(dirname "$0")" && pwd)
last() { "$analyze" -q --format folded "$@" "$here/simple.txt" | tail -n 1; }

same "ours" "$(last)" "main (dir/x.lua:10);string.gsub 50"
same "L" "$(last --frames L)" "L:dir/x.lua:10;builtin#string.gsub 50"
same "@" "$(last --frames @)" "@dir/x.lua:10;builtin#string.gsub 50"
# The style in every format that has names of its own, also of a function without a name.
sed 's/ name="work"//' "$here/simple.txt" >"$scratch/nameless.txt"
for format in folded speedscope perfetto chrome pprof callgrind csv luaprofiler luaprofile xmake; do
  for style in L: @; do
    "$analyze" -q --force --format $format --frames "${style%:}" -o "$scratch/styled" "$scratch/nameless.txt"
    if [ $format = pprof ]; then gzip -dc <"$scratch/styled"; else cat "$scratch/styled"; fi >"$scratch/plain"
    for name in "${style}dir/x.lua:10" "${style}dir/x.lua:20" 'builtin#string.gsub'; do
      grep -qaF -- "$name" "$scratch/plain" || fail "--format $format --frames ${style%:}: no $name"
    done
  done
done
# A function that was called before its description came, and a clock whose ticks are no whole
# nanoseconds: no call has more self time than inclusive time.
cat >"$scratch/late.txt" <<'END'
#luatrace-text 1
clock monotonic mult=3 shift=1 start=0 mono=0
process 1 pid=10
stream 1 process=1 tid=11
10 1 entry 400
11 1 return 400
12 1 entry 400
13 1 return 400
func 1:400 lua line=900 chunk="@b.lua" name="q"
end events=4
END
same "late description" "$("$analyze" -q --format luaprofiler "$scratch/late.txt" | cut -f 2-3 | sort | uniq -c | tr -s ' \t' ' ')" \
  " 2 b.lua q
 1 file_defined function_name"
"$analyze" -q --format luaprofiler "$scratch/late.txt" | awk 'NR > 1 && $6 > $7 { exit 1 }' || fail "more self time than inclusive time"
same "source root" "$(last --source-root dir --frames=L)" "L:x.lua:10;builtin#string.gsub 50"
same "not another folder" "$(last --source-root di --frames=L)" "L:dir/x.lua:10;builtin#string.gsub 50"
same "unit" "$(last --unit us)" ""
same "as --folded" "$("$analyze" -q --folded "$here/coroutines.txt")" "$("$analyze" -q --format folded "$here/coroutines.txt")"
same "as --folded --suspended" "$("$analyze" -q --folded --suspended "$here/coroutines.txt")" "$("$analyze" -q --format folded --suspended "$here/coroutines.txt")"
"$analyze" -q --format folded --suspended "$here/coroutines.txt" | grep ';\[suspended\] ' >/dev/null || fail "nothing is suspended"
suspended=$("$analyze" -q --format folded --suspended "$here/coroutines.txt" | awk '{ sum += $NF } END { print sum }')
same "speedscope --suspended" "$("$analyze" -q --format speedscope --suspended "$here/coroutines.txt" | jq '.profiles[0].endValue')" "$suspended"
same "callgrind --suspended" "$("$analyze" -q --format callgrind --suspended "$here/coroutines.txt" | sed -n 's/^totals: //p')" "$suspended"
# One command, of all processes: readers refuse or ignore others.
commands() { "$analyze" -q --format callgrind "$@" | grep '^cmd:'; }
same "command of one file" "$(commands "$here/simple.txt")" "cmd: luajit x.lua"
sed 's/"x\.lua"/"y.lua"/' "$here/simple.txt" >"$scratch/other.txt"
same "commands of three files" "$(commands "$here/simple.txt" "$scratch/other.txt" "$here/simple.txt")" \
  "cmd: luajit x.lua ; luajit y.lua"
same "as --json" "$("$analyze" -q --json "$here/simple.txt")" "$("$analyze" -q --format json "$here/simple.txt")"

"$analyze" --format chrome -o "$scratch/out" "$here/simple.txt" >"$scratch/summary"
grep -q "^trust: " "$scratch/summary" || fail "no summary in addition to the file"
[ "$("$analyze" --format chrome "$here/simple.txt" | jq -r '.traceEvents | length')" -gt 20 ] || fail "no events on standard output"
# Two files: tracks of their own.
same "tracks of two files" "$("$analyze" --format chrome "$here/simple.txt" "$here/simple.txt" | jq '[.traceEvents[] | select(.name == "thread_name") | .tid] | unique | length')" 4
same "calls of two files" "$("$analyze" --format luaprofiler "$here/simple.txt" "$here/simple.txt" | wc -l)" 9

refuses "--format: invalid value 'x'; choose folded, speedscope, perfetto, chrome, pprof, callgrind, csv, json, luaprofiler, xmake, luaprofile or parquet" "$analyze" --format x "$here/simple.txt"
refuses "--frames: invalid value 'x'; choose ours, L or @" "$analyze" --format csv --frames x "$here/simple.txt"
refuses "--output needs --format" "$analyze" -o x "$here/simple.txt"
for format in folded chrome; do
  refuses "/nowhere/x: cannot write: No such file" "$analyze" -q --format $format -o /nowhere/x "$here/simple.txt"
  refuses "/dev/full: cannot write: No space left" "$analyze" -q --format $format -o /dev/full "$here/simple.txt"
done
