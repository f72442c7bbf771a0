#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Descriptors of a recording from inside: none of them has the number of a standard stream that the
# program has closed, not even for a moment; and a program that may open no more files ends its
# recording all the same, with everything in the trace.
source "$(dirname "$0")/../lib.sh"
lua=$(cd "$(dirname "$0")" && pwd)/descriptors.lua

recorded() { # MODE
  [ -e "$scratch/$1.good" ] || fail "$1: $(cat "$scratch/$1.err" 2>/dev/null)"
  same "calls of work ($1)" "$(luatrace-analyze --strict --json "$scratch/$1.bin" | jq '[.functions[] | select(.name == "work") | .calls] | add')" 10
}
touch "$scratch/none.new" "$scratch/closed.new"
timeout 25 luajit "$lua" none "$scratch/none" 2>"$scratch/none.err" || true
recorded none

# A recorder that can take no ring says so, and the start fails.
cat >"$scratch/few.lua" <<'END'
local ok, why = require("luatrace").start()
print(ok, why)
END
for n in 10 11 12; do
  (ulimit -n $n && luajit "$scratch/few.lua") >"$scratch/few" 2>&1 || fail "the program: $(cat "$scratch/few")"
  grep -E '^nil.*([Tt]oo (many|few)|descriptor)' "$scratch/few" >/dev/null || fail "with $n descriptors: $(cat "$scratch/few")"
done

command -v strace >/dev/null || skip "strace is not installed (scripts/deps --test)"
strace -qq -e trace=poll,ppoll -o "$scratch/polls" luajit "$lua" closed "$scratch/closed" <&- >&- 2>&- || true
recorded closed
grep -q 'fd=' "$scratch/polls" || fail "the program did not wait: $(cat "$scratch/polls")"
! grep -E 'fd=[0-2]\b' "$scratch/polls" || fail "a descriptor of the recording has the number of a standard stream"
