#!/bin/bash
# SPDX-License-Identifier: MIT
# A program's own hooks, handlers and profilers: they see the same as untraced, and the program's
# events are exact.
#
#   hooks.sh BUILD FLAVOUR seen|in_c|vm_events|profiler
#
# seen: the events of debug hooks, and lines of messages. in_c: hooks that yield or fail at any
# instruction; each function's calls match its own count. vm_events, profiler: code in a handler is
# muted; its coroutines' stacks are reported again.
source "$(dirname "$0")/../lib.sh"
build=$1 flavour=$2 program=$3
here=$(cd "$(dirname "$0")" && pwd)
lua=$here/programs/$program.lua
[ "$program" != in_c ] || lua=$here/programs/hooks_in_c.lua
[ "$program" != seen ] || lua=$here/programs/hooks_seen.lua
export LUA_CPATH="$build/tests/hostile/?.so" LUA_PATH="$build/luajit/$flavour/?.lua;;"

# record LUAJIT-OPTIONS -- RECORDER-OPTIONS: $scratch/trace.bin, and the program's output.
record() {
  local words=()
  while [ "$1" != -- ]; do words+=("$1"); shift; done
  shift
  "$build/bin/luatrace-record" -q -o "$scratch/trace.bin" "$@" -- "$luajit" "${words[@]}" "$lua" >"$scratch/traced" \
    2>"$scratch/err" || fail "$luajit ${words[*]}: ended with $?: $(cat "$scratch/err")"
}
trust() { "$build/bin/luatrace-analyze" --json "$scratch/trace.bin" | jq "$@"; }
anomalies() { same "anomalies ($luajit $*)" "$(trust '.trust.anomalies')" 0; }

seen() { # the program has no hot loops, so it is the same with the compiler
  local options
  for options in -joff -O3; do
    "$luajit" $options "$lua" >"$scratch/untraced"
    [ "$(wc -l <"$scratch/untraced")" -gt 100 ] || fail "the program did not run"
    for more in "" "--c-functions=all" "--exclude=*" "--c-functions=none"; do
      record $options -- $more
      diff "$scratch/untraced" "$scratch/traced" >&2 || fail "$luajit $options $more: hooks see something else"
      anomalies $options $more
    done
  done
}
in_c() {
  local options chunk=hooks_in_c.lua
  for options in -joff -O3 -Ohotloop=1; do
    record $options --
    anomalies $options
    grep '^CALLS' "$scratch/traced" | cut -d' ' -f2- | sort >"$scratch/counted"
    [ "$(wc -l <"$scratch/counted")" -gt 10 ] || fail "the program did not run"
    trust -r '.functions[] | select(.chunk | endswith("/'$chunk'")) | select(.line > 0) |
              "\(.calls) line \(.line)"' | sort >"$scratch/calls"
    diff "$scratch/counted" "$scratch/calls" >&2 || fail "$luajit $options: calls are not as counted"
  done
}
muted() { # EXPECTED
  local options
  for options in -joff -O3 -Ohotloop=1 "-Ohotloop=2 -Ohotexit=1"; do
    record $options -- --block
    same "output of $luajit $options" "$(cat "$scratch/traced")" "$1"
    same "anomalies other than of handlers ($options)" "$(trust '.trust | .anomalies - .truncated')" 0
  done
}

for luajit in "$build/bin/luajit" "$build/luajit/$flavour-assert/luajit"; do
  [ -x "$luajit" ] || skip "no $luajit"
  case $program in
    seen) seen ;;
    in_c) in_c ;;
    vm_events) muted $'720\ttrue\t0' ;;
    profiler) muted $'true\ttrue\t0\ttrue' ;;
  esac
done
