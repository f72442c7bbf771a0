#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The probe sites without <sys/sdt.h> (lj_ltsdt.h) are those that the header makes: the same notes
# in a linked library, one by one, and the same object file, for each compiler that is here.
#
#   own_notes.sh BUILD_OF_FLAVOUR COMPILER
source "$(dirname "$0")/../lib.sh"
src=$1/src
for file in /usr/include/sys /usr/include/*/sys; do
  [ ! -e "$file/sdt.h" ] || header=$file
done
[ -n "${header-}" ] || skip "there is no <sys/sdt.h> to compare with (systemtap-sdt-dev)"
mkdir -p "$scratch/include/sys"
cp "$header"/sdt*.h "$scratch/include/sys/"

# What lj_ltctl.c defines, in the same section.
cat >"$scratch/semaphores.c" <<'END'
__attribute__((visibility("hidden"), section(".probes"))) unsigned short luajit_semaphore = 0;
__attribute__((visibility("hidden"), section(".probes"))) unsigned short luajit_block_semaphore = 0;
__attribute__((visibility("hidden"), section(".probes"))) unsigned short luajit_segments_semaphore = 0;
__attribute__((visibility("hidden"), section(".probes"))) unsigned short luajit_auto_semaphore = 0;
END

# build NAME PREFIX COMPILER OPTION...: NAME.o, NAME.so and the headers that it is made of
build() {
  local name=$scratch/$1 prefix=$2
  shift 2
  "$@" -isystem "$scratch/include" -O2 -Wall -Wextra -Werror -fPIC -DLUAJIT_USE_SDT \
    -I"$src" -MD -MF "$name.d" -c "$src/lj_ltprobe.c" -o "$name.o"
  "$prefix"strip -g "$name.o"
  "$1" -shared -fPIC -nostdlib "$scratch/semaphores.c" "$name.o" -o "$name.so"
  "$prefix"readelf -nW "$name.so" | awk '
    /Provider:|Name:|Location:|Arguments:/ { print }' >"$name.notes"
}

compare() {
  local what=$1 count
  shift
  build header "$@"
  build own "$@" -DLUAJIT_OWN_SDT
  grep -q 'sys/sdt\.h' "$scratch/header.d" || fail "$what: the first is not made with the header"
  ! grep -q 'sys/sdt\.h' "$scratch/own.d" || fail "$what: the second is made with the header, too"
  count=$(grep -c 'Provider: luajit' "$scratch/header.notes") || fail "$what: the header makes no notes"
  diff "$scratch/header.notes" "$scratch/own.notes" >&2 || fail "$what: other notes (above, the header's on the left)"
  cmp "$scratch/header.o" "$scratch/own.o" >&2 || fail "$what: the notes are the same, but not the object files"
  echo "$what: $count notes and the object files are the same"
}

case $(uname -m) in x86_64) redzone=-mno-red-zone ;; *) redzone= ;; esac
compare "$2" "" "$2" $redzone
for other in gcc clang; do
  [ "$(basename "$2")" = $other ] || ! command -v $other >/dev/null || compare $other "" $other $redzone
done
[ -z "$redzone" ] || compare "$2 without GC64" "" "$2" $redzone -DLUAJIT_DISABLE_GC64
cross=aarch64-linux-gnu-
! command -v ${cross}gcc >/dev/null || compare ${cross}gcc $cross ${cross}gcc
