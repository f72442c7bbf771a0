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
grep -qx "main chunk (co.lua:0);work (co.lua:3) 40000000" "$dir/folded" || fail "--folded=FILE"

# A pipe instead of a file; a reader that goes away.
"$analyze" - <"$dir/good.bin" >"$dir/a" && cat "$dir/good.bin" | "$analyze" - >"$dir/b" ||
  fail "standard input"
cmp -s "$dir/a" "$dir/b" || fail "file and pipe differ"

# JSON that others can read, with the documented members.
python3 - "$dir/json" <<'PY' || fail "--json"
import json, sys
report = json.load(open(sys.argv[1]))
work = [f for f in report["functions"] if f["line"] == 3][0]
assert work == {"chunk": "@co.lua", "line": 3, "name": "work", "kind": "lua", "hint": True, "calls": 1,
                "wall_ns": 240000000, "running_ns": 40000000, "self_ns": 40000000,
                "min_ns": 40000000, "max_ns": 40000000, "avg_ns": 40000000, "complete": 1}, work
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
