#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The ABI note (luatrace_abi.h) of a stripped library and of a static program: every member is
# what the headers of that LuaJIT say, and its addresses are those of the symbols.
#
#   abi_note.sh BUILD_OF_FLAVOUR COMPILER
source "$(dirname "$0")/../lib.sh"
build=$1 cc=$2 here=$(dirname "$0")

"$cc" -std=gnu11 -O1 -Wall -Wextra -DLUAJIT_USE_SDT -D_GNU_SOURCE -I"$build/src" -I"$here/../.." \
  "$here/abi_note.c" -o "$scratch/compare"

# The size of the settings in front of the list's head, as the VM and the note have it.
cat >"$scratch/states.c" <<'END_C'
#include <stddef.h>
#include <stdio.h>
#include "luatrace_format.h"
int main(void) { printf("%zu\n", offsetof(struct lt_control, states)); return 0; }
END_C
"$cc" -I"$build/src" "$scratch/states.c" -o "$scratch/states"

symbol() { nm "$1" | awk -v name="$2" '$3 == name { print $1 }'; }
for file in libluajit-5.1.so.2 luajit; do
  strip -o "$scratch/stripped" "$build/$file"
  head=$(printf %x $((0x$(symbol "$build/$file" luajit_usdt_control) + $("$scratch/states"))))
  "$scratch/compare" "$scratch/stripped" "$head" "$(symbol "$build/$file" lj_vm_asm_begin)" \
    "$(symbol "$build/$file" lj_vm_ffi_call)" "$(symbol "$build/$file" lj_vm_rules)" \
    "$(symbol "$build/$file" lj_ltname_builtins)" || fail "$file: the note is wrong"
done
