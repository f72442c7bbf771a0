#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Lua in threads with small C stacks (16 to 64 KB), while recorders attach and detach: it computes
# the same as untraced, and each recording is correct. Usage: small_stack.sh BUILD direct|bpf
source "$(dirname "$0")/../attach/lib.sh"
via=$2
need_way "$via"
sizes="16 24 32 64"
[ "$via" = direct ] || sizes="16 64" # the kernel takes its time
for kb in $sizes; do
  rm -f "$scratch"/{ready,end}
  begin "$build/tests/hostile/hostile_small_stack" $kb "$scratch"
  ready
  for turn in 1 2; do
    what="a stack of $kb KB, recording $turn"
    options=()
    [ $turn = 1 ] || options=(--c-functions all)
    "$bin/luatrace-record" --via "$via" "${options[@]}" -p $target -d 0.1 -o "$scratch/trace.bin" 2>"$scratch/record.err" ||
      fail "$what: $(cat "$scratch/record.err")"
    json "$scratch/trace.bin" | jq -e '.trust | .events > 100 and .unbalanced + .bad_records == 0' >/dev/null ||
      fail "$what: $("$bin/luatrace-analyze" "$scratch/trace.bin" | tail -1)"
  done
  touch "$scratch/end"
  ended
  same "what it computed ($kb KB)" "$(cat "$scratch/target.out")" "some 0"
done
