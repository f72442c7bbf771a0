#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A host in C records itself with the functions of luatrace.h; %p in the name of its file.
#   host.sh COMPILER LUAJIT_DIR
source "$(dirname "$0")/../lib.sh"
cc=$1 luajit=$2
"$cc" -Wall -Wextra -Werror -I"$luajit/include/luajit-2.1" "$(dirname "$0")/host.c" -o "$scratch/host" \
  "$luajit/libluajit-5.1.so.2"
echo 'local function work() end for _ = 1, 12 do work() end' >"$scratch/program.lua"
run() { TMPDIR=$scratch LD_LIBRARY_PATH=$luajit "$scratch/host" "$scratch/program.lua" "$@"; }
run >"$scratch/out"
grep -E '^work,.*,lua,12,' "$scratch/out" >/dev/null || fail "no row of work: $(cat "$scratch/out")"
run "$scratch/t.%p.bin" >/dev/null
[ "$(ls "$scratch"/t.*.bin | wc -l)" = 1 ] || fail "not one file: $(ls "$scratch")"
refuses 'luatrace-record is not found' env LUATRACE_BIN=/nonexistent "LD_LIBRARY_PATH=$luajit" "$scratch/host" "$scratch/program.lua"
[ -z "$(find "$scratch" -name 'luatrace-*')" ] || fail "a temporary file is left"
