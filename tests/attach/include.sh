#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A pattern of --include that no recorded function matches is reported at the end, whatever else is
# recorded; one that matches is not.
#
#   include.sh BUILD VIA
source "$(dirname "$0")/lib.sh"
via=$2
need_way "$via"
script=("$here/gate.lua" "$scratch" "$here/work.lua")
unmatched() { sed -n 's/^luatrace-record: --include \(.*\): no function of a matching chunk was recorded.*/\1/p' "$scratch/record.err" | paste -sd' '; }
patterns=(--include wrok.lua --include work.lua --include '*/attach/w*' --include '@*/none/*' --include '=[[]C]')

gate "$bin/luajit" "${script[@]}"
ready
record --via "$via" -p $target "${patterns[@]}"
recording
open_gate
touch "$scratch/end"
ended
finish 0
same "patterns without a match" "$(unmatched)" "wrok.lua '@*/none/*' '=[[]C]'"

touch "$scratch/go"
"$bin/luatrace-record" -o "$scratch/trace.bin" --via "$via" --include gate.lua --include 'work.*' --include 'work.l' -- \
  "$bin/luajit" "${script[@]}" 2>"$scratch/record.err"
same "patterns without a match, of a command" "$(unmatched)" work.l

# Not if nothing was recorded at all, which has its own message. With -q, too: something is missing.
"$bin/luatrace-record" -o "$scratch/trace.bin" --via "$via" --include nothing -- true 2>"$scratch/record.err"
same "patterns of a command without Lua" "$(unmatched)" ""
"$bin/luatrace-record" -q -o "$scratch/trace.bin" --via "$via" --include nothing -- "$bin/luajit" "${script[@]}" 2>"$scratch/record.err"
same "patterns with -q" "$(unmatched)" nothing
