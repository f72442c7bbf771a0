#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Functions whose memory, and that of their chunks' names, is used again at once: no frame has the name of one that had
# its address before. What was gone before it could be read is unknown, and says so.
#
#   reuse.sh RECORD LUAJIT
source "$(dirname "$0")/../lib.sh"
source "$(dirname "$0")/lib.sh"
record=$1 luajit=$2
needs_sampling "$record"

"$record" --sample 1997 -q -o "$scratch/r.bin" -- "$luajit" "$sample_here/reuse.lua" 3
samples "$scratch/r.bin" | grep -E 'p[0-9]:.*k[0-9]_' >"$scratch/r.txt" || true
judged=$(wc -l <"$scratch/r.txt")
wrong=$(grep -cvE 'p([0-9]):[^ ]* ?.*k\1_' "$scratch/r.txt" || true)
echo "$judged judged, $wrong wrong"
[ "$judged" -gt 100 ] || fail "only $judged stacks can be judged"
[ "$wrong" -eq 0 ] || { grep -vE 'p([0-9]):[^ ]* ?.*k\1_' "$scratch/r.txt" | head -n 3 >&2; fail "$wrong of $judged stacks have the name of another function"; }
