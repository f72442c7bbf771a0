#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What is known of all processes together has a limit: two that make the recorder read unwind tables of
# 14 KB for each of 65,000 instructions. It says so, and goes on with complete stacks.
#
#   memory.sh RECORD LUAJIT COMPILER
source "$(dirname "$0")/../lib.sh"
source "$(dirname "$0")/lib.sh"
record=$1 luajit=$2 cc=$3
needs_sampling "$record"
[ "$(uname -m)" = x86_64 ] || skip "the program is written for x86-64"

# Registers of the caller by expressions of 600 bytes, which nothing needs.
bytes=$(printf '0x96,%.0s' {1..600})
{
  echo '.globl sled; .type sled,@function; sled: .cfi_startproc'
  for ((i = 0; i < 24; i++)); do echo ".cfi_escape 0x16,0x8,0xd8,0x4,${bytes%,}"; done
  echo '1: .rept 65000; nop; .endr; dec %rdi; jnz 1b; ret; .cfi_endproc'
  echo '.section .note.GNU-stack,"",@progbits'
} >"$scratch/sled.s"
"$cc" -shared -o "$scratch/sled.so" "$scratch/sled.s"
cat >"$scratch/busy.lua" <<'END'
local ffi = require "ffi"
ffi.cdef "void sled(long); int usleep(unsigned);"
local library = ffi.load(arg[1])
local function busy()
  local clock = os.clock
  while clock() < 3 do library.sled(100) end
end
busy()
for _ = 1, 3000 do -- what unwinds its samples is in its memory
  if io.open(arg[2]) then break end
  ffi.C.usleep(100000)
end
END

"$record" --sample 10000 --ring-size 256M -q -o "$scratch/m.bin" -- sh -c '"$0" "$@" & "$0" "$@"; wait' \
  "$luajit" "$scratch/busy.lua" "$scratch/sled.so" "$scratch/taken" 2>"$scratch/m.err" &
recorder=$!
peak=0 used=0 idle=0
while read -r now < <(awk '/^RssAnon/ { print $2 }' "/proc/$recorder/status" 2>/dev/null); do
  [ "$now" -le "$peak" ] || peak=$now
  before=$used used=$(ticks $recorder)
  [ $((used - before)) -gt 2 ] && idle=0 || idle=$((idle + 1))
  [ $idle -lt 40 ] || touch "$scratch/taken" # it has taken all samples
  sleep 0.1
done
wait $recorder || fail "status $?: $(cat "$scratch/m.err")"
echo "largest: $((peak / 1024)) MB, $(cat "$scratch/m.err")"
grep -qE 'took more memory than 256.0 MB: .* \([0-9]+ times?\)' "$scratch/m.err" || fail "no word about the limit"
[ $peak -lt $((400 * 1024)) ] || fail "the recorder had $peak KB"
samples "$scratch/m.bin" >"$scratch/m.txt"
all=$(grep -c 'N:[^;]*/sled.so' "$scratch/m.txt" || true)
whole=$(grep -c 'L:@[^;]*:busy;.*N:[^;]*/sled.so$' "$scratch/m.txt" || true)
[ "$all" -gt 10000 ] || fail "$all samples"
[ "$whole" -gt $((all * 9 / 10)) ] || fail "of $all samples $whole are whole"
