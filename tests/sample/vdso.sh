#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Functions of the vDSO have names: the kernel's code that a program calls for its clock is in no file.
#
#   vdso.sh RECORD COMPILER ANALYZE
source "$(dirname "$0")/../lib.sh"
source "$(dirname "$0")/lib.sh"
record=$1 cc=$2 analyze=$3
needs_sampling "$record"

cat >"$scratch/clock.c" <<'END'
#include <time.h>
int main(void) {
  struct timespec t, start;
  clock_gettime(CLOCK_MONOTONIC, &start);
  do clock_gettime(CLOCK_MONOTONIC, &t);
  while (t.tv_sec < start.tv_sec + 60);
  return 0;
}
END
"$cc" -O1 -o "$scratch/clock" "$scratch/clock.c"
"$scratch/clock" &
pid=$!
runs $pid "$scratch/clock"
! grep '\[vdso\]' "/proc/$pid/maps" >/dev/null && skip "no vDSO here"
"$record" --sample 997 -q -o "$scratch/v.bin" -p $pid -d 1 || fail "status $?"
"$analyze" --report --limit 0 --json "$scratch/v.bin" >"$scratch/v.json"
jq -e '[.functions[] | select(.kind == "c" and (.name | test("^(__vdso_)?clock_gettime$"))) | .samples] | add > 20' \
  "$scratch/v.json" >/dev/null || fail "no function of the vDSO: $(jq -c '[.functions[] | [.name, .kind, .samples]]' "$scratch/v.json")"
