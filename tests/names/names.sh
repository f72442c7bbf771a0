#!/bin/bash
# SPDX-License-Identifier: MIT
# A name is that of the definition; if that cannot be known (21; those that are only passed on), a
# hint from the first call, and from no other call. After a tail call the frame still holds the
# return address of the call before.
source "$(dirname "$0")/../lib.sh"
build=$1 here=$(cd "$(dirname "$0")" && pwd)

names() {
  "$build/bin/luatrace-record" -q -o "$scratch/t.bin" -- "$build/bin/luajit" "$@" "$here/names.lua"
  "$build/bin/luatrace-analyze" --json "$scratch/t.bin" |
    jq -r '[.functions[] | select(.kind == "lua" and .line > 0)] | sort_by(.line) | .[] | "\(.line) \(.name)"' | sort -n -s -k1,1
}

want="3 leaf
4 outer
8 advance
9 new
12 __call
13 through
16 vararg
17 spread
20 pick
21 "
for option in -jon -joff "-Ohotloop=1 -Ohotexit=1"; do
  # shellcheck disable=SC2086
  same "names with $option" "$(sort <<<"$want")" "$(names $option | sed 's/ null$/ /' | sort)"
done
