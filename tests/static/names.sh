#!/bin/bash
# SPDX-License-Identifier: MIT
#
# luatrace-static is what its name says, or what its first word says; nothing else is loaded.
#
#   names.sh LUATRACE_STATIC LUATRACE LUAJIT
source "$(dirname "$0")/../lib.sh"
static=$1 luatrace=$2 luajit=$3
readelf -lW "$static" >"$scratch/segments"
! grep -q INTERP "$scratch/segments" || fail "$static needs a dynamic linker"
cp "$static" "$scratch/luatrace"
for program in record analyze top; do
  name=luatrace-$program
  ln -s luatrace "$scratch/$name"
  same "$program --help" "$("$scratch/luatrace" $program --help)" "$("$luatrace" $program --help)"
  same "$name --help" "$("$scratch/$name" --help)" "$("$luatrace" $program --help)"
done
same "luatrace --help" "$("$scratch/luatrace" --help)" "$("$luatrace" --help)"
refuses "missing program: record, analyze or top" "$scratch/luatrace"
refuses "'replay': no such program" "$scratch/luatrace" replay
refuses "^luatrace-analyze: $scratch/none: cannot open" "$scratch/luatrace" analyze "$scratch/none"
refuses "this program is static" "$scratch/luatrace" record --push http://127.0.0.1:9/ -p $$
# How the analyzer is called next depends on how the recorder was called.
cd "$scratch"
for case in "./luatrace record:./luatrace analyze" "./luatrace-record:./luatrace-analyze"; do
  read -ra words <<<"${case%:*}"
  "${words[@]}" -o trace.bin -- "$luajit" -e "" 2>log
  grep -qF "next: ${case#*:} trace.bin" log || fail "'${case%:*}' does not say '${case#*:}': $(cat log)"
done

command -v strace >/dev/null || skip "no strace"
strace -f -e trace=openat,open ./luatrace analyze trace.bin --push http://127.0.0.1:9/ --push-as otlp-1.11 2>opened >out || true
grep -q '"trace.bin"' opened || skip "strace cannot run here"
! grep '\.so' opened >&2 || fail "a library was opened"
