#!/bin/bash
# SPDX-License-Identifier: MIT
# luatrace-record --compress, with a real program: every event is there, the file is small, and the
# part written before a kill can be read. The bytes are those of single events.
#   compress.sh BIN EXAMPLE
source "$(dirname "$0")/../lib.sh"
bin=$1 example=$2
record() { "$bin/luatrace-record" -q --block --times "${times:-events}" "$@" -- "$bin/luajit" "$example" 5 >"$scratch/out"; }
number() { "$bin/luatrace-analyze" --strict --json "$scratch/$1" 2>"$scratch/err" | jq "$2"; }

for options in "" --compress --compress=19; do
  # shellcheck disable=SC2086 # an option or none
  record $options -o "$scratch/${options:-plain}"
  grep -q '^5 rounds, checksum' "$scratch/out" || fail "the program: $(cat "$scratch/out")"
done
# What depends on when the VM collects garbage and compiles is left out.
calls_of() { number "$1" '[.functions[] | select(.name | test("coroutine|finali|^.(GC|JIT|luatrace).$") | not) | .calls] | add'; }
calls=$(calls_of plain)
[ "$calls" -gt 100000 ] || fail "only $calls calls"
for file in --compress --compress=19; do
  same "calls ($file)" "$(calls_of "$file")" "$calls"
  same "anomalies ($file)" "$(number "$file" .trust.anomalies)" 0
  events=$(number "$file" .trust.events)
  size=$(stat -c %s "$scratch/$file")
  [ $((size * 10)) -le $((events * 25)) ] || fail "$file: $size bytes for $events events: more than 2.5 each"
done
# The header has a bit for compression, and one for segments: a reader that knows neither must refuse
# the file. Without compiled code there are none.
feature_bits() { od -An -t u8 -j16 -N8 "$scratch/$1" | tr -d ' '; }
same "feature bits" "$(feature_bits --compress)" 1
same "feature bits" "$(feature_bits plain)" 0
times=auto record --compress -o "$scratch/default"
same "calls (segments)" "$(calls_of default)" "$calls"
same "anomalies (segments)" "$(number default .trust.anomalies)" 0
if grep '^segments ' < <("$bin/luatrace-analyze" --dump "$scratch/default") >/dev/null; then
  same "feature bits (segments)" "$(feature_bits default)" 3
fi
"$bin/luatrace-analyze" --dump "$scratch/--compress" >"$scratch/text"
grep -q '^note compress=1$' "$scratch/text" || fail "no note of it"

# Cut by a kill of the recorder: all blocks but the last one are read.
"$bin/luatrace-record" -q --compress -o "$scratch/killed" -- "$bin/luajit" "$example" 100000 >/dev/null 2>&1 &
recorder=$!
program=
large() {
  program=$(pgrep -P $recorder -x luajit) && started=($program) &&
    [ "$(stat -c %s "$scratch/killed" 2>/dev/null || echo 0)" -ge 300000 ]
}
within 60 "300 kB of compressed events" large
kill -KILL $recorder
kill -KILL "$program" 2>/dev/null || true
wait $recorder 2>/dev/null || true
events=$("$bin/luatrace-analyze" --json "$scratch/killed" 2>/dev/null | jq .trust.events)
[ "$events" -gt 100000 ] || fail "only $events events of the killed recording"

refuses "'20' is not a level from 1 to 19" record --compress=20 -o "$scratch/x"
refuses "'fast' is not a level" record --compress=fast -o "$scratch/x"
refuses "'0' is not a level" record --compress=0 -o "$scratch/x"
