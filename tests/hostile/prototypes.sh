#!/bin/bash
# SPDX-License-Identifier: MIT
# A program that compiles and drops functions for ever needs no more memory while it is recorded
# than at first: nothing is kept about collected functions.
source "$(dirname "$0")/../lib.sh"
build=$1 here=$(cd "$(dirname "$0")" && pwd)
peak() {
  "$build/bin/luatrace-record" -q --block --ring-size 256K -o "$scratch/t.bin" -- "$build/bin/luajit" "$here/prototypes.lua" "$1"
}
few=$(peak 50000) many=$(peak 200000)
[ "$few" -gt 1000 ] || fail "no figure: $few"
[ $((many - few)) -lt 4096 ] || fail "$few KB for 50,000 functions, $many KB for 200,000"
echo "$few KB, $many KB"
