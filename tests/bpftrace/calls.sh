#!/bin/bash
# SPDX-License-Identifier: MIT
# The same program under lua-calls.bt and under luatrace-record: the same calls,
# one by one, with the JIT compiler on; for programs of the conformance suite,
# too. And the trust line has nothing to complain about.
. "$(dirname "$0")/lib.sh"

compare() {
  local program=$1 name
  name=$(basename "$program")
  "$record" -q --block -o "$scratch/direct.bin" -- "$luajit" "$program" >"$scratch/out" ||
    fail "luatrace-record: $name"
  trace -o "$scratch/calls.txt" -c "$luajit $program" "$probes/lua-calls.bt" "$luajit"
  calls_of "$scratch/direct.bin" >"$scratch/direct"
  calls_of "$scratch/calls.txt" >"$scratch/bpf"
  cmp -s "$scratch/direct" "$scratch/bpf" ||
    fail "$name: $(diff "$scratch/direct" "$scratch/bpf" | head -20)"
  "$analyze" --strict "$scratch/calls.txt" >"$scratch/summary" ||
    fail "$name: $(tail -n 1 "$scratch/summary")"
  # Function by function.
  for kind in direct.bin calls.txt; do
    "$analyze" --json "$scratch/$kind" |
      jq -r '.functions[] | select(.calls > 0) | "\(.chunk):\(.line) \(.name) \(.calls)"' | sort >"$scratch/$kind.counts"
  done
  cmp -s "$scratch/direct.bin.counts" "$scratch/calls.txt.counts" ||
    fail "$name: $(diff "$scratch/direct.bin.counts" "$scratch/calls.txt.counts")"
  echo "$name: $(wc -l <"$scratch/bpf") events, $(wc -l <"$scratch/direct.bin.counts") functions, equal"
}

compare "$here/programs/mixed.lua"
for name in recursion_tree co_basic co_error_chain co_yield_pcall error_hot tail_recursion varargs \
  side_exits callback_gsub pcall_nested; do
  compare "$here/../conformance/programs/$name.lua"
done
