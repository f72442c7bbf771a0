#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Which C functions have events does not depend on whether they were compiled: for each class the
# interpreter and the compiler report the same sequence of a program that calls the library and
# every operator of cdata.
source "$(dirname "$0")/../lib.sh"
build=$1
here=$(cd "$(dirname "$0")" && pwd)

# events CLASS JIT: the calls, without what depends on the compiler by nature (finalizers)
events() {
  "$build/bin/luatrace-record" --c-functions "$1" -o "$scratch/trace.bin" -- \
    "$build/bin/luajit" -j"$2" -Ohotloop=3 -Ohotexit=2 "$here/cfunctions.lua" >"$scratch/out" 2>"$scratch/err" ||
    fail "the program: $(cat "$scratch/out" "$scratch/err")"
  "$build/bin/luatrace-analyze" --dump=calls "$scratch/trace.bin" | grep -v -e __gc -e 'C:jit.o' >"$scratch/$1.$2"
}
for class in none user default all ffi; do
  events $class on
  events $class off
  cmp "$scratch/$class.on" "$scratch/$class.off" >&2 || {
    diff "$scratch/$class.on" "$scratch/$class.off" | head -n 10 >&2
    fail "--c-functions $class: compiled code has other events than the interpreter"
  }
  if grep -E 'ffi\.(meta|clib)\.' "$scratch/$class.on" >&2; then fail "an operator of cdata has events"; fi
done
[ "$(wc -l <"$scratch/all.on")" -gt "$(wc -l <"$scratch/default.on")" ] || fail "'all' has no more events than 'default'"
[ "$(wc -l <"$scratch/default.on")" -gt "$(wc -l <"$scratch/none.on")" ] || fail "'default' has no more events than 'none'"
[ "$(wc -l <"$scratch/ffi.on")" -gt "$(wc -l <"$scratch/default.on")" ] || fail "'ffi' has no more events than 'default'"
