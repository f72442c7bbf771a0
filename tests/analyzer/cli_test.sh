#!/bin/bash
# SPDX-License-Identifier: MIT
#
# luatrace-analyze as a command: exit statuses, messages, outputs.
#   cli_test.sh LUATRACE-ANALYZE LUATRACE-SYNTH DATA
set -uo pipefail
analyze=$1 synth=$2 data=$3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0

fail() { echo "FAILED: $*" >&2; failed=1; }

# expect STATUS TEXT ARGUMENT...: the status, and TEXT somewhere in the output.
expect() {
  local want=$1 text=$2 status=0
  shift 2
  "$analyze" "$@" >"$dir/out" 2>&1 </dev/null || status=$?
  [ "$status" = "$want" ] || fail "$*: status $status, not $want: $(head -c 300 "$dir/out")"
  grep -qF -- "$text" "$dir/out" || fail "$*: no '$text' in: $(head -c 300 "$dir/out")"
}

"$analyze" --convert="$dir/good.bin" "$data/coroutine.txt" || fail "--convert"
"$synth" --events 20000 --nodes 300 -o "$dir/synth.bin" || fail "luatrace-synth"
: >"$dir/empty"
echo hello >"$dir/text"
head -c 1000 "$dir/synth.bin" >"$dir/cut.bin"

expect 0 "trust: 14 events, none lost" "$dir/good.bin"
expect 0 "work" --strict "$data/coroutine.txt"
expect 0 "Usage" --help
expect 0 "luatrace-analyze " --version
expect 1 "no trace given"
expect 1 "--frobnicate" --frobnicate "$dir/good.bin"
expect 1 "--sort" --sort=luck "$dir/good.bin"
expect 1 "--dump" --dump=luck "$dir/good.bin"
expect 2 "$dir/none: cannot open: No such file" "$dir/none"
expect 2 "$dir: is a directory" "$dir"
expect 2 "$dir/empty: the file is empty" "$dir/empty"
expect 2 "$dir/text: not a luatrace trace" "$dir/text"
expect 0 "cut.bin: offset" "$dir/cut.bin"
expect 3 "WITHOUT END" --strict "$dir/cut.bin"
expect 2 "work" "$dir/good.bin" "$dir/none"  # What can be read is shown.
expect 0 "trust: 28 events" "$dir/good.bin" "$data/coroutine.txt"
expect 2 "cannot write" --json="$dir/none/x" "$dir/good.bin"
expect 0 "1 entry 2" --dump "$dir/good.bin"
expect 0 "S1 C2 D1 entry co.lua:3" --dump=calls "$dir/good.bin"
expect 0 "flame graph: $dir/good.html" --flame "$dir/good.bin"
[ -s "$dir/good.html" ] || fail "no page beside the trace"
expect 0 "" --flame="$dir/page.html" --folded="$dir/folded" --json="$dir/json" "$dir/good.bin"
[ -s "$dir/page.html" ] || fail "--flame=FILE"
grep -qx "co.lua (main chunk);work (co.lua:3) 40000000" "$dir/folded" || fail "--folded=FILE"

# A pipe instead of a file; a reader that goes away.
"$analyze" - <"$dir/good.bin" >"$dir/a" && cat "$dir/good.bin" | "$analyze" - >"$dir/b" ||
  fail "standard input"
cmp -s "$dir/a" "$dir/b" || fail "file and pipe differ"

# Options that read the trace more than once give the same for a pipe as for a file, also for a text.
pipe() { cat "$dir/good.bin" | "$analyze" "$@" - >"$dir/out" 2>&1; }
"$analyze" --dump "$dir/good.bin" >"$dir/good.txt" || fail "--dump"
for option in "-r 10%~" "-r 1ms~2ms" "-t 15ms" "-C work" "-F work" "-t 15ms -C work -r 5%~"; do
  # shellcheck disable=SC2086
  "$analyze" --folded -D 9 $option "$dir/good.bin" >"$dir/a" 2>&1 || fail "$option: $(cat "$dir/a")"
  for form in bin txt; do
    # shellcheck disable=SC2086
    cat "$dir/good.$form" | "$analyze" --folded -D 9 $option - >"$dir/b" 2>&1 || fail "$option from a pipe: $(cat "$dir/b")"
    cmp -s "$dir/a" "$dir/b" || fail "$option: the pipe of $form says: $(cat "$dir/b"), the file: $(cat "$dir/a")"
  done
done
pipe -r @1~ || grep -q "the trace has no time of day" "$dir/out" || fail "-r @1~ from a pipe: $(head -c 300 "$dir/out")"

# Threads, limits, progress.
"$synth" --events 300000 --nodes 60000 --streams 3 --compress -o "$dir/many.bin" || fail "luatrace-synth --streams"
for jobs in 1 2 5; do
  "$analyze" --jobs $jobs --json="$dir/json.$jobs" --folded="$dir/folded.$jobs" \
    --save-profile="$dir/profile.$jobs" "$dir/many.bin" >"$dir/text.$jobs" || fail "--jobs $jobs"
  for form in json folded profile text; do
    cmp -s "$dir/$form.1" "$dir/$form.$jobs" || fail "--jobs $jobs: another $form"
  done
done
# Compressed blocks are read ahead: messages about damage are nevertheless in the order of the file,
# and if there are too many, the first ones of the file are printed, not those that were found first.
for parts in 6 22 30; do
  python3 - "$dir/many.bin" "$dir/damaged.bin" $parts <<'PY'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
parts = int(sys.argv[3])
for part in range(1, parts):
    data[len(data) * part // (parts + 1)] ^= 1
open(sys.argv[2], "wb").write(data)
PY
  for jobs in 1 2; do
    "$analyze" --jobs $jobs "$dir/damaged.bin" 2>"$dir/messages.$jobs" >"$dir/out" || fail "--jobs $jobs, damaged"
    sed -n 's/.*: offset \([0-9]*\):.*/\1/p' "$dir/messages.$jobs" >"$dir/offsets"
    [ "$(wc -l <"$dir/offsets")" -ge 6 ] || fail "--jobs $jobs: few messages: $(cat "$dir/messages.$jobs")"
    sort -nc "$dir/offsets" || fail "--jobs $jobs: messages in another order: $(cat "$dir/messages.$jobs")"
  done
  diff "$dir/messages.1" "$dir/messages.2" >"$dir/diff" || fail "--jobs 1 and 2, $parts: other messages: $(cat "$dir/diff")"
done
grep -q ": [0-9]* more messages of this kind" "$dir/messages.1" || fail "no messages were left out: $(cat "$dir/messages.1")"
# A full disk is reported, also if it shows long before the end.
full() {
  "$analyze" "$@" "$dir/many.bin" >/dev/full 2>"$dir/err" && fail "$*: good on a full disk"
  grep -q "standard output: cannot write: No space left on device" "$dir/err" || fail "$*: $(cat "$dir/err")"
}
for way in --dump --dump=calls --folded --json "--csv --tree --limit 0" "--format perfetto" "--format chrome" "--format luaprofiler" \
  "--format speedscope" "--format pprof" "--save-profile -" "--timeline" "--page=-"; do
  # shellcheck disable=SC2086
  full $way
done
for format in perfetto chrome pprof; do
  expect 2 "/dev/full: cannot write: No space left on device" --format $format -o /dev/full "$dir/many.bin"
done
expect 2 "/dev/full: cannot write: No space left on device" --page=/dev/full "$dir/many.bin"
# Looking ahead in a large tree finds the nodes that following single calls finds.
"$analyze" --folded -D 1000000 "$dir/many.bin" >"$dir/folded.slow" || fail "-D"
cmp -s "$dir/folded.1" "$dir/folded.slow" || fail "folded stacks with and without -D differ"
expect 1 "--jobs: '0' is out of range" --jobs 0 "$dir/good.bin"
expect 1 "--max-nodes: 'x' is not a number" --max-nodes x "$dir/good.bin"
expect 0 "[pruned]" --max-nodes 1000 "$dir/many.bin"
expect 0 "many.bin: the call tree has 1000 nodes: calls that need more" --max-nodes 1000 "$dir/many.bin"
expect 0 "many.bin: " --progress --report "$dir/many.bin"
grep -qE "many.bin: [0-9]+ of [0-9]+ MB, 100 %, [0-9]+ MB/s, took 0:0" "$dir/out" || fail "--progress: $(head -c 300 "$dir/out")"
"$analyze" --progress --quiet --report "$dir/many.bin" >"$dir/out" 2>&1 || fail "--quiet --progress: $(head -c 300 "$dir/out")"
! grep MB/s "$dir/out" || fail "--quiet --progress"

# JSON that others can read, with the documented members.
python3 - "$dir/json" <<'PY' || fail "--json"
import json, sys
report = json.load(open(sys.argv[1]))
work = [f for f in report["functions"] if f["line"] == 3][0]
assert work == {"chunk": "@co.lua", "line": 3, "name": "work", "kind": "lua", "hint": True, "calls": 1,
                "wall_ns": 240000000, "inclusive_ns": 40000000, "running_ns": 40000000, "self_ns": 40000000,
                "suspended_ns": 200000000, "c_ns": 0, "min_ns": 40000000, "max_ns": 40000000, "avg_ns": 40000000,
                "complete": 1}, work
assert report["trust"]["lost"] == 0 and report["trust"]["events"] == 14
assert report["trace"]["duration_ns"] == 250000000
PY

# The made-up program: as many nodes as were asked for, nothing unbalanced.
"$analyze" --strict --json "$dir/synth.bin" >"$dir/json" || fail "synth: --strict"
python3 - "$dir/json" <<'PY' || fail "synth"
import json, sys
report = json.load(open(sys.argv[1]))
assert report["trace"]["nodes"] == 300, report["trace"]
assert report["trust"]["anomalies"] == 0
PY
exit $failed
