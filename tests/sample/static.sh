#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Programs that were linked statically have .eh_frame, but nothing in memory says where: their C functions are all there.
#
#   static.sh RECORD COMPILER ANALYZE default|code-with-constants
source "$(dirname "$0")/../lib.sh"
source "$(dirname "$0")/lib.sh"
record=$1 cc=$2 analyze=$3 layout=$4
needs_sampling "$record"

cat >"$scratch/deep.c" <<'END_C'
#include <time.h>
static volatile int sum;
__attribute__((noinline)) static int inner(int n) { for (int i = 0; i < n; i++) sum += i; return sum; }
__attribute__((noinline)) static int middle(int n) { return 1 + inner(n); }
__attribute__((noinline)) static int outer(int n) { return 1 + middle(n); }
int main(void) {
  while (clock() < CLOCKS_PER_SEC / 2) outer(100000);
  return 0;
}
END_C
option=
[ "$layout" = default ] || option=-Wl,-z,noseparate-code
"$cc" -O1 -fomit-frame-pointer -static $option "$scratch/deep.c" -o "$scratch/deep" 2>"$scratch/err" || skip "no static C library: $(head -n 1 "$scratch/err")"
! readelf -lW "$scratch/deep" | grep GNU_EH_FRAME || skip "this linker makes a search table"
"$record" --sample 997 --user-only -q -o "$scratch/s.bin" -- "$scratch/deep"
"$analyze" -q --format folded --frames L "$scratch/s.bin" >"$scratch/s.txt"
all=$(awk '/C:inner/ { n++; s += $NF } END { print s + 0 }' "$scratch/s.txt")
whole=$(awk '/C:main;C:outer;C:middle;C:inner/ { s += $NF } END { print s + 0 }' "$scratch/s.txt")
[ "$all" -gt 100000000 ] || fail "too few samples: $(cat "$scratch/s.txt")"
same "samples with all functions" "$whole" "$all"
