#!/bin/bash
# SPDX-License-Identifier: MIT
# Functions without line information are distinguished by their code, the same in every run, however
# they are run; none counts as a main chunk. Chunks whose names are cut stay distinct.
source "$(dirname "$0")/../lib.sh"
build=$1 here=$(cd "$(dirname "$0")" && pwd)
analyze=$build/bin/luatrace-analyze

record() { # FILE OPTION...
  "$build/bin/luatrace-record" -q -o "$1" -- "$build/bin/luajit" "${@:2}" "$here/stripped.lua"
}
lib() { "$analyze" --json "$1" | jq -r '.functions[] | select(.chunk == "@lib.luac") | "\(.calls) \(.line) \(.code)"' | sort -n; }

record "$scratch/one.bin" -jon
functions=$(lib "$scratch/one.bin")
same "calls" "$(cut -d' ' -f1 <<<"$functions" | xargs)" "2 100 100 200 20000"
same "lines" "$(cut -d' ' -f2 <<<"$functions" | sort -u)" 0
same "functions" "$(cut -d' ' -f3 <<<"$functions" | grep -cE '^#[0-9a-f]{8}$')" 5
same "different ones" "$(cut -d' ' -f3 <<<"$functions" | sort -u | wc -l)" 5
for option in -joff "-Ohotloop=1 -Ohotexit=1"; do
  # shellcheck disable=SC2086
  record "$scratch/two.bin" $option
  same "functions with $option" "$(lib "$scratch/two.bin")" "$functions"
done
same "calls of functions that differ inside, and of two that do not" "$("$analyze" --json "$scratch/one.bin" |
  jq -r '.functions[] | select(.chunk == "@factories.luac") | .calls' | sort -n | xargs)" "1 4 31 32 67"

"$analyze" --folded "$scratch/one.bin" >"$scratch/folded"
! grep -E 'main chunk \(lib|main chunk[^;]*main chunk' "$scratch/folded" || fail "a stripped function is a main chunk"
code=$(awk '$1 == 20000 { print $3 }' <<<"$functions")
same "one of them alone" "$("$analyze" --json -F "lib.luac:$code" "$scratch/one.bin" |
  jq '[.functions[] | select(.calls == 20000)] | length')" 1

# Saved, compared, exported: as many functions.
"$analyze" --save-profile "$scratch/saved" "$scratch/one.bin" >"$scratch/report"
same "saved" "$(lib "$scratch/saved")" "$functions"
same "new or gone in another run" "$("$analyze" --csv --diff "$scratch/one.bin" "$scratch/two.bin" |
  grep lib.luac | grep -cE ',(new|gone),' || true)" 0
same "rows of CSV" "$("$analyze" --format csv "$scratch/one.bin" | grep -c 'lib\.luac')" 5
same "names in callgrind's, with seven of the other chunks and two main chunks" "$("$analyze" --format callgrind "$scratch/one.bin" |
  grep -oE '(^|c)fn=\([0-9]+\) .*#[0-9a-f]{8}' | sed 's/.*) //' | sort -u | wc -l)" 14

# Names of chunks.
"$analyze" --json "$scratch/one.bin" | jq -r '.functions[] | select(.calls >= 3 and .calls <= 6 and .kind == "lua" and .chunk != "@factories.luac") |
  "\(.calls) \(.chunk)"' | sort -n >"$scratch/chunks"
same "calls of chunks" "$(cut -d' ' -f1 "$scratch/chunks" | xargs)" "3 4 5 6"
same "chunks" "$(cut -d' ' -f2 "$scratch/chunks" | grep -cE '^=x{1010}\.\.\.#[0-9a-f]{8}$')" 2
