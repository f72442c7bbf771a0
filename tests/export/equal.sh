#!/bin/bash
# SPDX-License-Identifier: MIT
# Ten functions, some with the same name, in the same file, or made from code that begins alike, are
# ten in every format. Main chunks have their chunks' names; a name from a call comes before an offset.
source "$(dirname "$0")/../lib.sh"
analyze=$1 trace=$(cd "$(dirname "$0")" && pwd)/equal.txt
cd "$scratch"
format() { "$analyze" -q --format "$1" "$trace" 2>/dev/null; }
ten() { same "names in $1" "$(sort -u | wc -l)" 10; }

format folded | sed 's/ [0-9]*$//' | ten folded
format speedscope | jq -r '.shared.frames[2:][].name' | ten speedscope
format chrome | jq -r '.traceEvents[] | select(.ph == "B") | .name' | ten chrome
format luaprofiler | cut -f3 | sed 1d | ten luaprofiler
format callgrind | awk '/^fl=/ { file = $1 } /^fn=/ { print file, $1 }' | sed 's/^fl=\(([0-9]*)\)/\1/' | ten callgrind
"$analyze" -q --format pprof -o pprof "$trace" 2>/dev/null
zcat pprof | grep -aoE 'next_token \((lib/lexer.lua:10|lib/lexer.lua:50|other/lexer.lua:10)\)' >names
same "names in pprof" "$(sort -u names | wc -l)" 3
"$analyze" -q --format perfetto -o perfetto "$trace" 2>/dev/null
grep -aoE 'next_token( \((lib/lexer.lua:50|other/lexer.lua:10)\))?' perfetto >names
same "names in perfetto" "$(sort -u names | wc -l)" 3
"$analyze" --save-profile saved "$trace" >/dev/null 2>&1
same "a saved profile" "$("$analyze" -q --folded saved | sort)" "$("$analyze" -q --folded "$trace" 2>/dev/null | sort)"

# In text: main chunks whole, the hint with its mark and what that means.
for width in 0 80 60; do
  "$analyze" --width $width --limit 0 "$trace" >text 2>/dev/null
  grep -qE '  content_by_lua\(nginx\.conf:12\)(  \(main chunk\))?$' text || fail "no whole name in $width columns: $(cat text)"
  grep -qE '  get\?  \(.*mod\.so\+0x100\)$' text || fail "no hint in $width columns: $(cat text)"
  same "explanations" "$(grep -c '^  (?: ' text)" 1
done
! "$analyze" --report --kind lua "$trace" | grep '(?: ' || fail "a mark that is not shown is explained"
same "a library matches with any offset" "get get mod.so+0x40" \
  "$("$analyze" -q --csv --report --function mod.so "$trace" 2>/dev/null | grep -oE ',(get|mod\.so\+0x40)' | tr -d , | sort | xargs)"
