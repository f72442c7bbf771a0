#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Every command of docs/cookbook.md works, in the order given there, and prints something.
#   cookbook_test.sh SOURCE BIN
. "$(dirname "$0")/../lib.sh"
source=$1 bin=$2
mkdir -p "$scratch/build" && cd "$scratch"
ln -s "$bin" build/bin
ln -s "$source/examples" examples
mkdir tests && ln -s "$source/tests/views" tests/views

awk '/^```sh$/ { on = 1; next } /^```$/ { on = 0 } on' "$source/docs/cookbook.md" >commands
[ "$(wc -l <commands)" -gt 30 ] || fail "only $(wc -l <commands) commands found in docs/cookbook.md"
while IFS= read -r command; do
  timeout 60 bash -c "$command" >out 2>err </dev/null || fail "status $? of: $command
$(cat err)"
  [ -s out ] || [[ $command == *' -q '* ]] || fail "no output of: $command"
  if grep -v ': only the flame graph is written: --page adds' err >other; then fail "'$command' says: $(cat other)"; fi
done <commands

# Counts, which are the same in each run: both programs do the same requests.
build/bin/luatrace-analyze --json --diff now.bin fixed.bin >diff.json
jq -e '.diff[] | select(.name == "find") | .calls == 300 and .calls_delta == 0' diff.json >/dev/null ||
  fail "find is called for each request: $(jq -c '.diff[] | select(.name == "find")' diff.json)"
same "requests" 300 "$(build/bin/luatrace-analyze --json now.bin | jq '.functions[] | select(.name == "handle").calls')"

# The cost of an event is in a trace without segments: --compensate takes it out.
build/bin/luatrace-analyze --json --report --compensate single.bin >cost.json
jq -e '.trace.recording_cost_ns > 0 and (.report | any(.self_corrected_ns < .self_ns))' cost.json >/dev/null ||
  fail "no cost of recording: $(jq -c .trace.recording_cost_ns cost.json)"

# Collector and compiler are functions of the recording; with the compiler off there is only the first.
build/bin/luatrace-analyze --json now.bin >work.json
jq -e '.functions | any(.name == "[GC]" and .calls > 0) and any(.name == "[JIT]" and .calls > 0)' work.json >/dev/null ||
  fail "no [GC] or no [JIT]: $(jq -c '[.functions[].name]' work.json)"
build/bin/luatrace-analyze --json nojit.bin | jq -e '.trace | .collector_ns > 0 and .compiler_ns == 0' >/dev/null ||
  fail "with -joff there is a compiler, or no collector"
build/bin/luatrace-analyze --jit --json now.bin >jit.json
jq -e '.jit[0] | .completed > 0 and .begun >= .completed + .aborted and .compiler_ns > 0 and .own_flushes == 1 and .flushes == 0' jit.json >/dev/null ||
  fail "what the compiler did: $(jq -c '.jit' jit.json)"
jq -e '.jit_aborts | any((.function | startswith("render")) and .reason == "NYI: bytecode FNEW")' jit.json >/dev/null ||
  fail "no abort in render: $(jq -c '.jit_aborts' jit.json)"
exit 0
