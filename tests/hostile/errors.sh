#!/bin/bash
# SPDX-License-Identifier: MIT
# The cost of a caught error depends on the frames that it removes, not on those below: 1,000 errors
# above 300 and above 3,000 frames of excluded functions take about as many instructions. The stacks
# stay exact: nothing is unbalanced.
source "$(dirname "$0")/../lib.sh"
build=$1 here=$(cd "$(dirname "$0")" && pwd)
command -v valgrind >/dev/null || skip "no valgrind here (Debian: valgrind)"
record() { "$build/bin/luatrace-record" -q "--exclude=*errors.lua" -o "$scratch/t.bin" -- "$@"; }
instructions() { # FRAMES ERRORS
  record valgrind --tool=callgrind --callgrind-out-file=/dev/null "$build/bin/luajit" -joff "$here/errors.lua" "$@" 2>"$scratch/err"
  sed -n 's/.*Collected : //p' "$scratch/err"
}
low=$(($(instructions 300 1000) - $(instructions 300 0)))
high=$(($(instructions 3000 1000) - $(instructions 3000 0)))
[ $low -gt 1000000 ] || fail "no figure: $low"
[ $((10 * high)) -lt $((13 * low)) ] || fail "$low instructions above 300 frames, $high above 3,000"
echo "$low, $high"

record "$build/bin/luajit" "$here/errors.lua" 3000 1000
"$build/bin/luatrace-analyze" --strict --json "$scratch/t.bin" >"$scratch/json" || fail "$(jq -c .trust "$scratch/json")"
same "errors" "$(jq '.functions[] | select(.name == "error") | .calls' "$scratch/json")" 1000
same "unwound" "$(jq .trust.unwound "$scratch/json")" 1000
