#!/bin/bash
# SPDX-License-Identifier: MIT
#
# R3.3: process, thread, rate, duration, only some of the functions, depth of the stack.
#
#   options.sh RECORD LUAJIT
source "$(dirname "$0")/../lib.sh"
source "$(dirname "$0")/lib.sh"
record=$1 luajit=$2
needs_sampling "$record"

take() { # NAME OPTION...: samples of the running program
  local name=$1
  shift
  "$record" --sample 499 -q -o "$scratch/$name.bin" -p "$pid" -d 0.7 "$@" || fail "$name: status $?"
  samples "$scratch/$name.bin" >"$scratch/$name.txt"
}
none() { ! grep -E -e "$2" "$scratch/$1.txt" >&2 || fail "$1: should not be there: $2"; }
some() { grep -Eq -e "$2" "$scratch/$1.txt" || { cat "$scratch/$1.txt" >&2; fail "$1: missing: $2"; }; }

"$luajit" "$sample_here/mixed.lua" 60 &
pid=$!
runs $pid "$luajit"
works $pid 10

take all --tid $pid
some all 'L:[^;]*:sorting'
same "other threads" "$(cut -d' ' -f1 "$scratch/all.txt" | grep -vx $pid || true)" ""
before=$(ticks $pid)
take user --user-only
after=$(ticks $pid)
none user 'K:'
some user 'L:[^;]*:sorting'
some user 'N:'
# No more than the program's CPU time has, with what the clock of /proc is wrong by.
n=$(wc -l <"$scratch/user.txt")
[ "$n" -le $(((after - before + 2) * 499 / 100 + 2)) ] || fail "$n samples in $((after - before)) ticks"
take kernel --kernel-only
none kernel '[LN]:'
some kernel 'K:'
take lua --lua-only
none lua '[NKC]:'
some lua 'L:[^;]*:sorting'
take short --max-stack 2
same "deepest stack" "$(awk '{ n = split($3, f, ";"); if (n > max) max = n } END { print max }' "$scratch/short.txt")" 2
some short 'truncated'

refuses 'no such' "$record" --sample 99 -o "$scratch/x.bin" -p 999999999
# A thread that is not one of the process.
status=0
"$record" --sample 99 --tid $$ -o "$scratch/tid.bin" -p $pid -d 1 2>"$scratch/tid.err" || status=$?
same "status for a thread of another process" $status 120
grep -q -- "--tid $$: there is no such thread (not in /proc/$pid/task)" "$scratch/tid.err" || fail "$(cat "$scratch/tid.err")"
[ ! -e "$scratch/tid.bin" ] || fail "a file for no thread"
"$record" --sample 499 --tid $$ --children -q -o "$scratch/tid.bin" -p $$ -d 0.3 2>"$scratch/tid.err" || true
! grep 'no such thread' "$scratch/tid.err" || fail "refused a thread of a descendant"

# Nothing is said, and nothing is there, unless samples came.
"$record" --sample 99 --tid $$ -o "$scratch/none.bin" -- true 2>"$scratch/none.err" || fail "status $?"
grep -q 'nothing was recorded: no sample came' "$scratch/none.err" || fail "no word about nothing: $(cat "$scratch/none.err")"

# A signal before it records: as soon as it takes signals. If it records already, that is a recording.
takes_signals() { [ $(((0x$(awk '/^SigCgt/ { print $2 }' "/proc/$recorder/status") | 0x$(awk '/^SigBlk/ { print $2 }' "/proc/$recorder/status")) & 2)) -ne 0 ]; }
setsid "$record" --sample 99 -o "$scratch/early.bin" -p $pid 2>"$scratch/early.err" &
recorder=$!
runs $recorder "$record"
within 30 "the recorder to take signals" takes_signals
kill -INT $recorder
status=0
wait $recorder || status=$?
if [ $status -eq 130 ]; then
  grep -q 'nothing was recorded and no file was written: a signal came before' "$scratch/early.err" || fail "no word: $(cat "$scratch/early.err")"
  [ ! -e "$scratch/early.bin" ] || fail "it has left a file"
fi

refuses 'exclude each other' "$record" --sample 99 --user-only --lua-only -o "$scratch/x.bin" -- true
refuses 'needs --sample' "$record" --max-stack 9 -o "$scratch/x.bin" -- true
refuses 'between 1 and 10,000' "$record" --sample 0 -o "$scratch/x.bin" -- true
refuses '--sample excludes --cpu' "$record" --sample 99 --cpu -o "$scratch/x.bin" -- true
status=0
"$record" --sample 99 -q -o "$scratch/x.bin" -- sh -c 'exit 7' || status=$?
same "status of the command" $status 7
