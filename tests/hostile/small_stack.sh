#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Lua in threads with small C stacks (16 to 64 KB), while recorders attach, watch and detach: it computes
# the same as untraced, and each recording is correct. Usage: small_stack.sh BUILD direct|bpf
source "$(dirname "$0")/../attach/lib.sh"
via=$2
need_way "$via"
sizes="16 24 32 64" turns="1 2 3"
[ "$via" = direct ] || sizes="16 64" turns="1 2" # the kernel takes its time, and watches nothing
for kb in $sizes; do
  rm -f "$scratch"/{ready,end}
  begin "$build/tests/hostile/hostile_small_stack" $kb "$scratch"
  ready
  for turn in $turns; do
    what="a stack of $kb KB, recording $turn"
    options=()
    [ $turn != 2 ] || options=(--c-functions all)
    [ $turn != 3 ] || options=(--watch leaf --watch '*:14' --print args,locals,traceback --print-depth 8)
    "$bin/luatrace-record" --via "$via" "${options[@]}" -p $target -d 20 --max-size 256k -o "$scratch/trace.bin" >"$scratch/values" 2>"$scratch/record.err" ||
      fail "$what: $(cat "$scratch/record.err")"
    json "$scratch/trace.bin" | jq -e '.trust | .events > 100 and .unbalanced + .bad_records == 0' >/dev/null ||
      fail "$what: $("$bin/luatrace-analyze" "$scratch/trace.bin" | tail -1)"
    [ $turn != 3 ] || grep -q ' leaf: x=' "$scratch/values" || fail "$what: no values"
  done
  touch "$scratch/end"
  ended
  same "what it computed ($kb KB)" "$(cat "$scratch/target.out")" "some 0"
done
