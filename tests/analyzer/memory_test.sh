#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A trace that is larger than the memory it is analysed with; a call tree that is larger than its
# limit. The long form, 20 GB with 2 GB: bench/big_trace.py, result in docs/performance.md.
#   memory_test.sh BUILD SOURCE
. "$(dirname "$0")/../lib.sh"
build=$1 source=$2

run() { python3 -B "$source/bench/big_trace.py" --build "$build" --dir "$scratch" "$@" 2>"$scratch/err"; }

run --size 240M --limit 48M --nodes 10000 >"$scratch/out" ||
  fail "240 MB with 48 MB: $(cat "$scratch/out" "$scratch/err")"
grep -q "10,000 nodes (0.0 % of the time pruned)" "$scratch/out" || fail "$(cat "$scratch/out")"
grep -qE "bin: .* of .* MB, [0-9]+ %, [0-9]+ MB/s" "$scratch/err" || fail "no progress: $(cat "$scratch/err")"

# Of 3 million nodes 50,000 are kept; big_trace.py checks the sums.
run --size 80M --limit 64M --nodes 3000000 --streams 1 -- --max-nodes 50000 >"$scratch/out" ||
  fail "limit of nodes: $(cat "$scratch/out" "$scratch/err")"
grep -qE " 50,00[0-9] nodes \([1-9][0-9.]* % of the time pruned" "$scratch/out" || fail "$(cat "$scratch/out")"
grep -q "has 50000 nodes: calls that need more are merged as \[pruned\]" "$scratch/err" ||
  fail "no message about the limit: $(cat "$scratch/err")"

# The limit of memory is real: without --max-nodes the same tree needs more.
! run --size 80M --limit 64M --nodes 3000000 >"$scratch/out" || fail "not limited: $(cat "$scratch/out")"
