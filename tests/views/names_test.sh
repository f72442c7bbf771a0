#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What functions are called, and that they are found under the names that reports show; in a recording
# of the real VM. Arguments: luatrace-analyze, luatrace-record, luajit.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
analyze=$1 record=$2 luajit=$3

cat >"$scratch/names.lua" <<'END'
local take, t = table.remove, {1, 2, 3, 4}
for i = 1, 3 do take(t) end
table.foreach(t, function() end)
table.foreachi(t, function() end)
table.move(t, 1, 1, 2)
table.getn(t)
string.len("x")
math.deg(1)
math.rad(1)
local f = loadstring("local function inner(n) return n end return inner(1)", "sp ace")
f()
local all = {loadstring("return 1", "@x.lua")}
all[1]()
local wrapped = coroutine.wrap(function() coroutine.yield(1) end)
wrapped()
wrapped()
END
(cd "$scratch" && "$record" -q -o names.bin -- "$luajit" -joff names.lua) || fail "cannot record"
trace=$scratch/names.bin
ask() { "$analyze" -q "$@" "$trace" 2>"$scratch/err" || fail "$*: status $?: $(cat "$scratch/err")"; }

# LuaJIT has some library functions in bytecode. They are builtins, whatever name the caller uses.
ask --json >"$scratch/json"
jq -r '.functions[] | select(.kind == "builtin") | "\(.name) \(.calls)"' "$scratch/json" >"$scratch/builtins"
for name in "table.remove 3" "table.foreach 1" "table.foreachi 1" "table.move 1" "table.getn 1" "string.len 1" \
  "math.deg 1" "math.rad 1"; do
  grep -qx "$name" "$scratch/builtins" || fail "no '$name' among the builtins: $(cat "$scratch/builtins")"
done
same "functions in line -1" "" "$(jq -r '.functions[] | select(.line > 1000) | .name' "$scratch/json")"
ask --report --limit 0 --kind builtin | grep >/dev/null 'table.remove' || fail "--kind builtin hides table.remove"
ask --format folded --frames L | grep >/dev/null ';builtin#table.remove ' || fail "no builtin#table.remove"
ask --fail-if 'calls(table.remove) > 3' >/dev/null
ask --report --limit 0 --group-by file | grep >/dev/null '\[builtin\]' || fail "no [builtin]"

# A main chunk does not get its name from its caller. Any of them is found as `main chunk`.
same "names of main chunks" "[string \"sp ace\"] false
names.lua false
x.lua false" \
  "$(jq -r '.functions[] | select(.kind == "lua" and .line == 0) | "\(.name) \(.hint)"' "$scratch/json" | sort -u)"

# A name matches as reports show it: a hint with its mark, the place of a string.
cat >"$scratch/hint.txt" <<'END'
#luatrace-text 1
clock monotonic mult=1 shift=0
process 1 pid=7
stream 1 process=1 tid=7 recording=1
func 1:1 lua line=1 chunk="@x.lua" name="foreach" hint=1
func 1:2 lua line=2 chunk="@x.lua" name="foreachi" hint=1
0 1 ringblock co=1 tid=7 rec=1
0 1 start
0 1 entry 1
10 1 return 1
10 1 entry 2
15 1 return 2
15 1 stop close
end exit=0
END
"$analyze" -q --report "$scratch/hint.txt" | grep >/dev/null 'foreach?' || fail "no hint is marked"
for view in --timeline '--slow foreach'; do
  "$analyze" -q $view "$scratch/hint.txt" | grep >/dev/null 'foreach?' || fail "no hint is marked by $view"
done
same "callers of foreach?" "foreach" \
  "$("$analyze" -q --callers 'foreach?' --json "$scratch/hint.txt" | jq -r '.callers[0].name')"
ask --callers '[string "sp ace"]:0' | grep >/dev/null '  \[string "sp ace"\]  (main chunk)$' || fail "not found by its place"
same "all main chunks" "3 3" "$(for fn in 'main chunk' '/^main chunk \(/'; do ask --function "$fn" --json |
  jq '[.functions[] | select(.line == 0 and .kind == "lua" and .calls > 0)] | length'; done | xargs)"
[ "$(ask --function '[string "sp ace"]:1' --json | jq '[.functions[] | select(.calls > 0)] | length')" = 1 ] ||
  fail "inner is not found by its place"

# A filter by function matches no coroutine, however coroutines are shown.
for mode in linked separate merged; do
  same "time of nothing, coroutines $mode" 0 \
    "$(ask -F '/^nothing$/' --coroutines=$mode --json | jq .trace.self_ns)"
done
same "time of nothing, by coroutine" 0 "$(ask -F '/^nothing$/' --group-by coroutine --json | jq .trace.self_ns)"
[ "$(ask --coroutines=separate --json | jq .trace.self_ns)" -gt 0 ] || fail "no time at all"

# Two profiles in one file are refused, not read as the first of them.
ask --save-profile "$scratch/one.prof"
cat "$scratch/one.prof" "$scratch/one.prof" >"$scratch/two.prof"
refuses 'two.prof: damaged profile: data after its end' "$analyze" -q "$scratch/two.prof"

# Object files are no source files, which callgrind_annotate would show.
ask --format callgrind -o "$scratch/callgrind.out"
if command -v callgrind_annotate >/dev/null; then
  (cd "$scratch" && callgrind_annotate callgrind.out) >"$scratch/annotated" 2>"$scratch/err"
  same "warnings of callgrind_annotate" "" "$(cat "$scratch/err")"
  grep -q 'names.lua:names.lua' "$scratch/annotated" || fail "no main chunk: $(head -n 20 "$scratch/annotated")"
fi
