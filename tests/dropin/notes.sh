#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The tracepoints of a stripped library, as debuggers and tracers see them:
# every probe of the table is there, operands are only registers or constants
# (no tool needs more, some can parse no more), one semaphore for the probes of
# single events, one for those of blocks, one for those of segments and one that asks for `auto`.
#
#   [CROSS_COMPILE=PREFIX] notes.sh BUILD_OF_FLAVOUR
source "$(dirname "$0")/../lib.sh"

# probe and its number of arguments (docs/probes.md)
probes="function__entry 7
function__return 7
function__tailcall 7
cfunction__entry 7
cfunction__return 7
function__unwind 2
coroutine__create 3
coroutine__resume 3
coroutine__yield 3
coroutine__end 4
coroutine__stack 5
coroutine__label 4
mark__begin 3
mark__end 3
gc__start 5
gc__done 5
trace__start 6
trace__stop 5
trace__abort 6
trace__flush 3
trace__exit 3
state__open 2
state__close 2
block 7
block__switch 0
segments 7
segments__switch 0
segments__auto 0"

# One line per note: provider name semaphore operands...
notes() {
  readelf -n "$1" | awk '
    $1 == "Provider:" { provider = $2 }
    $1 == "Name:" { name = $2 }
    /Location:/ { semaphore = $NF }
    $1 == "Arguments:" { $1 = ""; print provider, name, semaphore $0 }'
}

check() {
  local file=$1 name count line operand
  "${CROSS_COMPILE-}strip" -o "$scratch/stripped" "$file"
  notes "$scratch/stripped" | grep '^luajit ' >"$scratch/notes" || fail "$file: no tracepoint of the provider luajit"
  while read -r name count; do
    line=$(grep -m1 "^luajit $name " "$scratch/notes") || fail "$file: no probe $name"
    same "numbers of arguments of $name" "$(echo "$line" | awk '{ print NF - 3 }')" "$count"
  done <<<"$probes"
  while read -r _ name _ operands; do
    for operand in $operands; do
      [[ $operand =~ ^-?[1248]@(%[a-z0-9]+|\$-?[0-9]+|x[0-9]+)$ ]] || fail "$file: $name has the operand $operand"
    done
  done <"$scratch/notes"
  # One semaphore for all probes of single events, one for those of blocks of them, ...
  awk '$2 !~ /^(block|segments)/ { print $3 }' "$scratch/notes" | sort -u >"$scratch/semaphores"
  same "numbers of semaphores in $file" "$(wc -l <"$scratch/semaphores")" 1
  awk '$2 ~ /^block/ { print $3 }' "$scratch/notes" | sort -u >"$scratch/block"
  same "numbers of semaphores of blocks in $file" "$(wc -l <"$scratch/block")" 1
  same "semaphores of blocks in $file" $(($(cat "$scratch/block"))) $(($(cat "$scratch/semaphores") + 4))
  awk '$2 ~ /^segments(__switch)?$/ { print $3 }' "$scratch/notes" | sort -u >"$scratch/segments"
  same "semaphores of segments in $file" $(($(cat "$scratch/segments"))) $(($(cat "$scratch/semaphores") + 6))
  auto=$(awk '$2 == "segments__auto" { print $3 }' "$scratch/notes")
  ! grep -qhxF -e "$auto" "$scratch"/{semaphores,block,segments} || fail "$file: segments__auto has the semaphore of another probe"
  ! grep -qE '^0x0+$' "$scratch/semaphores" || fail "$file: the probes have no semaphore"
}

# The note for recorders that attach (struct lt_note): it is there although the file
# is stripped, in a segment that is loaded, and gives the address of
# luajit_usdt_control, whose first member is the semaphore of the probes.
control_note() {
  local file=$1 at bytes control symbol
  readelf -lW "$scratch/stripped" | grep -E >/dev/null '^ +[0-9]+ .*\.note\.luatrace' || fail "$file: the note is in no segment"
  at=0x$(readelf -SW "$scratch/stripped" | awk '$0 ~ / \.note\.luatrace / { sub(/^ *\[ *[0-9]+\]/, ""); print $3 }')
  "${CROSS_COMPILE-}objcopy" -O binary --only-section=.note.luatrace "$scratch/stripped" "$scratch/note"
  same "names of the note in $file" "$(head -c 20 "$scratch/note" | tail -c 8)" luatrace
  bytes=($(od -An -v -td4 "$scratch/note"))
  same "types and versions of the note in $file" "${bytes[2]} ${bytes[6]}" "1 1"
  same "sizes of the note in $file" "${bytes[1]} ${bytes[7]}" "$(($(stat -c %s "$scratch/note") - 24)) $(($(stat -c %s "$scratch/note") - 24))"
  control=$((at + 32 + $(od -An -v -td8 -j32 -N8 "$scratch/note")))
  symbol=$((0x$("${CROSS_COMPILE-}nm" "$file" | awk '$3 == "luajit_usdt_control" { print $1 }')))
  same "addresses of the control structure in $file" $control $symbol
  same "addresses of the semaphore in $file" $control $(($(head -n 1 "$scratch/semaphores")))
}

check "$1/libluajit-5.1.so.2"
control_note "$1/libluajit-5.1.so.2"
check "$1/luajit"
control_note "$1/luajit"
echo "$(wc -l <"$scratch/notes") tracepoints"
