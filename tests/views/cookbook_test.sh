#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Every command of docs/cookbook.md works, in its order, and says something.
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
  [ ! -s err ] || fail "'$command' says: $(cat err)"
done <commands

# What the text says is to be seen: the slow search, and that it went away.
build/bin/luatrace-analyze --json --diff now.bin fixed.bin >diff.json
jq -e '.diff[0] | .name == "find" and .self_delta_ns < 0' diff.json >/dev/null || fail "the change does not show: $(jq -c '.diff[0]' diff.json)"
same "requests" 300 "$(build/bin/luatrace-analyze --json now.bin | jq '.functions[] | select(.name == "handle").calls')"
build/bin/luatrace-analyze -q --diff good.prof --fail-if 'change(self(find)) > 50%' now.bin >/dev/null 2>&1 && fail "a slower program passes"
exit 0
