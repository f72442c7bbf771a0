#!/bin/bash
# SPDX-License-Identifier: MIT
# probes/lua-calls.stp under a real kernel, in two guests: exact events, equal to the
# direct recorder's, the right process only, libraries that come later, losses that
# are counted, a rebuilt library that is reported.
build=$(readlink -f "$1")
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/host_lib.sh"
prepare

library=$stripped/libluajit-5.1.so.2
# Emulation is slow enough to set off stap's guard against slow handlers.
module static lua-calls "$stripped/luajit" -DSTP_NO_OVERLOAD
module shared lua-calls "$library" -DSTP_NO_OVERLOAD

rebuild "$library" "$share/rebuilt.so"

in_guest quick_guest.sh
in_guest smp_guest.sh --cpus 2

# stap's status and what was counted in the kernel agree with what arrived.
whole() {
  [ "$(cat "$share/$1.status")" = 0 ] || fail "$1: status $(cat "$share/$1.status"): $(cat "$share/$1.err")"
  same "$1: lost" 0 "$(value lost "$1")"
  same "$1: hits" "$(value end_hits "$1")" "$(value hits "$1")"
}

# From the first line of the file to its last.
file_only() { sed -n "/ $1:0\$/,/^return .* $1:0\$/p"; }

# Every event of exact.lua, in order: of the program itself, and through the library.
"$stap_tests/exact.py" >"$scratch/expected"
for name in command linked; do
  whole $name
  reader events $name | file_only exact.lua >"$scratch/events"
  diff -u "$scratch/expected" "$scratch/events" >"$scratch/diff" || fail "exact.lua, $name: $(head -n 20 "$scratch/diff")"
done

# The analyzer sees the same, and the same as of the direct recorder.
analyze() { "$build/bin/luatrace-analyze" "$@" 2>"$scratch/err" || fail "luatrace-analyze $*: $(cat "$scratch/err")"; }
"$build/bin/luatrace-record" -o "$scratch/exact.bin" -- "$build/bin/luajit" "$stap_tests/programs/exact.lua" \
  2>"$scratch/err" || fail "$(cat "$scratch/err")"
analyze --dump=calls "$scratch/exact.bin" >"$scratch/expected"
analyze --dump=calls --strict "$share/command.out" >"$scratch/events"
diff -u "$scratch/expected" "$scratch/events" >"$scratch/diff" || fail "exact.lua, analyzed: $(head -n 20 "$scratch/diff")"

analyze "$share/linked.out" --flame="$scratch/flame.html" >/dev/null
grep -q exact.lua "$scratch/flame.html" || fail "no flame graph"

whole first
same "pids" "$(cat "$share/first.pid")" "$(value pids first)"
# gate.lua's own calls depend on how long it waited; stap is not told of the collector and the compiler as calls.
calls() { grep -v -e 'C:\[GC\]' -e 'C:\[JIT\]' -e 'C:\[luatrace\]' -e gate.lua -e C:file: -e 'C:io\.' -e C:unpack | sort -k 2; }
reader counts first | calls >"$scratch/stap"
: >"$scratch/go"
LD_LIBRARY_PATH=$build/lib "$build/bin/luatrace-record" -o "$scratch/direct.bin" -- \
  "$build/tests/stap/stap_host_linked" "$stap_tests/programs/gate.lua" "$scratch/go" \
  "$stap_tests/programs/mixed.lua" >/dev/null 2>"$scratch/err" || fail "$(cat "$scratch/err")"
by_function='.functions[] | select(.calls > 0) |
  "\(.calls)\t\(if .kind == "lua" then (.chunk | sub(".*/"; "")) + ":\(.line)" else "C:" + .name end)"'
analyze --json "$scratch/direct.bin" | jq -r "$by_function" | calls >"$scratch/direct"
analyze --json "$share/first.out" | jq -r "$by_function" | calls >"$scratch/analyzed"
diff -u "$scratch/direct" "$scratch/analyzed" >"$scratch/diff" || fail "analyzed, not as the direct recorder: $(cat "$scratch/diff")"
diff -u "$scratch/direct" "$scratch/stap" >"$scratch/diff" || fail "not as the direct recorder: $(cat "$scratch/diff")"
[ "$(wc -l <"$scratch/stap")" -ge 20 ] || fail "too few functions: $(cat "$scratch/stap")"

# Names, and which of them are hints, are the direct recorder's, too.
names='.functions[] | select(.kind == "lua" and .calls > 0) |
  "\(.chunk | sub(".*/"; "")):\(.line) \(.name)\(if .hint then "?" else "" end)"'
analyze --json "$scratch/direct.bin" | jq -r "$names" | grep -v gate.lua | sort >"$scratch/names.direct"
analyze --json "$share/first.out" | jq -r "$names" | grep -v gate.lua | sort >"$scratch/names.stap"
diff -u "$scratch/names.direct" "$scratch/names.stap" >"$scratch/diff" || fail "names, not as the direct recorder: $(cat "$scratch/diff")"
[ "$(grep -c ' [^ ]*[^?]$' "$scratch/names.stap")" -ge 5 ] || fail "too few names of definitions: $(cat "$scratch/names.stap")"

# Several processors: the file is not in order, everything in it comes out right.
whole both
same "both: processors" 2 "$(value cpus both)"
[ "$(value unordered both)" -gt 0 ] || fail "both: the records are in order by chance"
[ "$(value moved both)" -gt 0 ] || fail "both: no thread ran on two processors"
awk '{ print 2 * $1 "\t" $2 }' "$scratch/direct" >"$scratch/twice"
reader counts both | calls | diff -u "$scratch/twice" - >"$scratch/diff" || fail "both: $(cat "$scratch/diff")"
analyze --json "$share/both.out" >"$scratch/json"
jq -r "$by_function" "$scratch/json" | calls | diff -u "$scratch/twice" - >"$scratch/diff" ||
  fail "both, analyzed: $(cat "$scratch/diff")"
same "both: anomalies" 0 "$(jq .trust.anomalies "$scratch/json")"

whole opened
same "many.lua" "1 1 500" "$(reader counts opened | sed -n 's/\(.*\)\tmany.lua:.*/\1/p' | sort -n | tr '\n' ' ' | sed 's/ $//')"

whole lives
same "lives: most probes on" 13 "$(sort -n "$share/lives.probes" | tail -n 1)"
same "lives: probes left on" 0 "$(tail -n 1 "$share/lives.probes")"

whole spawns
same "spawns: probes on" 13 "$(head -n -1 "$share/spawns.probes" | grep -vx 0 | sort -u | xargs)"
same "spawns: probes left on" 0 "$(tail -n 1 "$share/spawns.probes")"

for i in 1 2; do
  whole "fat$i"
  same "leaves$i: hits" "$(value end_hits "leaves$i")" "$(value hits "leaves$i")"
  ! grep -q 'output is cut' "$share/leaves$i.err" || fail "leaves$i: $(cat "$share/leaves$i.err")"
  grep -q 'Child process exited with status 3' "$share/leaves$i.err" || fail "leaves$i: no message about the program's status"
  same "leaves$i: status" 1 "$(cat "$share/leaves$i.status")"
done

whole all
same "loss: status ($(cat "$share/loss.err"))" 0 "$(cat "$share/loss.status")"
lost=$(value lost loss)
[ "$lost" -gt 0 ] || fail "nothing was lost: $(cat "$share/loss.err")"
same "loss: all hits" "$(value hits all)" "$(($(value hits loss) + lost))"
same "loss: hits counted" "$(value hits all)" "$(value end_hits loss)"
same "loss: the trust line" "$lost" "$(analyze --json "$share/loss.out" | jq .trust.lost)"
analyze "$share/loss.out" | tr -d , | grep -i >/dev/null "$lost lost" || fail "loss: not in the report"
grep -q 'transport failures' "$share/loss.err" || fail "stap noticed no loss"

same "rebuilt: status" 1 "$(cat "$share/rebuilt.status")"
grep -qi 'build-id mismatch' "$share/rebuilt.err" || fail "no message about the build id: $(cat "$share/rebuilt.err")"
grep -q 'no event was seen' "$share/rebuilt.err" || fail "silently empty: $(cat "$share/rebuilt.err")"
