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
none lua '[NK]:'
some lua 'L:[^;]*:sorting'
take short --max-stack 2
same "deepest stack" "$(awk '{ n = split($3, f, ";"); if (n > max) max = n } END { print max }' "$scratch/short.txt")" 2
some short 'truncated'

refuses 'no such' "$record" --sample 99 -o "$scratch/x.bin" -p 999999999
refuses 'exclude each other' "$record" --sample 99 --user-only --lua-only -o "$scratch/x.bin" -- true
refuses 'needs --sample' "$record" --max-stack 9 -o "$scratch/x.bin" -- true
refuses 'between 1 and 10,000' "$record" --sample 0 -o "$scratch/x.bin" -- true
refuses '--sample excludes --cpu' "$record" --sample 99 --cpu -o "$scratch/x.bin" -- true
status=0
"$record" --sample 99 -q -o "$scratch/x.bin" -- sh -c 'exit 7' || status=$?
same "status of the command" $status 7
