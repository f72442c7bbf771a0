#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The apply script: what it takes, what it refuses, and that a refused tree is
# exactly as before. Works on toy trees and toy patches.
source "$(dirname "$0")/../lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
apply=$root/luajit-usdt/scripts/apply

# toy_tree DIRECTORY VERSION [openresty]: just enough to be taken for LuaJIT.
toy_tree() {
  local header=luajit.h
  [ "$2" != 2.1.ROLLING ] || header=luajit_rolling.h
  mkdir -p "$1/src"
  touch "$1/Makefile" "$1/src/Makefile" "$1/src/vm_x86.dasc" "$1/src/lj_arch.h"
  printf 'one\ntwo\nthree\n' >"$1/src/lj_record.c"
  printf 'four\nfive\nsix\n' >"$1/src/lj_dispatch.c"
  printf '#define LUAJIT_VERSION\t\t"LuaJIT %s"\n' "$2" >"$1/src/$header"
  [ "${3-}" != openresty ] || echo '#define OPENRESTY_LUAJIT' >>"$1/src/$header"
}

export LUATRACE_PATCHES=$scratch/patches LUATRACE_SOURCES=$scratch/sources
mkdir "$LUATRACE_PATCHES" "$LUATRACE_SOURCES"
echo '/* ours */' >"$LUATRACE_SOURCES/lj_toy.c"
cat >"$LUATRACE_PATCHES/01-record.patch" <<'END'
--- a/src/lj_record.c
+++ b/src/lj_record.c
@@ -1,3 +1,3 @@
 one
-two
+TWO
 three
END
# The second patch builds on the first: a dry run of each alone would not do.
cat >"$LUATRACE_PATCHES/02-both.patch" <<'END'
--- a/src/lj_record.c
+++ b/src/lj_record.c
@@ -1,3 +1,3 @@
 one
-TWO
+two and a half
 three
--- a/src/lj_dispatch.c
+++ b/src/lj_dispatch.c
@@ -1,3 +1,3 @@
 four
-five
+FIVE
 six
END
printf '# a comment\n01-record.patch\n\n02-both.patch -p1 # why\n' >"$LUATRACE_PATCHES/series"

# untouched DIRECTORY PATTERN: refused, and no byte or file changed.
untouched() {
  cp -a "$1" "$scratch/before"
  refuses "$2" "$apply" "$1"
  diff -r "$scratch/before" "$1" || fail "a refused tree was changed"
  rm -rf "$scratch/before"
}

toy_tree "$scratch/good" 2.1.ROLLING openresty
"$apply" "$scratch/good" >/dev/null
same "first file" "$(sed -n 2p "$scratch/good/src/lj_record.c")" "two and a half"
same "second file" "$(sed -n 2p "$scratch/good/src/lj_dispatch.c")" FIVE
cmp "$scratch/good/src/lj_toy.c" "$LUATRACE_SOURCES/lj_toy.c"
untouched "$scratch/good" "already applied"

for pair in "2.1.ROLLING openresty=openresty-20250117" "2.1.0-beta3 openresty=luajit2-20230119" \
  "2.1.0-beta3=luajit-20220320" "2.1.ROLLING=luajit-rolling"; do
  rm -rf "$scratch/detect"
  # shellcheck disable=SC2086 # two words: version and branch
  toy_tree "$scratch/detect" ${pair%%=*}
  same flavours "$("$apply" --detect "$scratch/detect")" "${pair#*=}"
done

# A hunk of the last patch does not fit: the first patch must not stay either.
toy_tree "$scratch/moved" 2.1.ROLLING openresty
printf 'four\nother\nsix\n' >"$scratch/moved/src/lj_dispatch.c"
untouched "$scratch/moved" "02-both.patch does not fit this tree"

# A flavour's own series comes before the common one.
echo 01-record.patch >"$LUATRACE_PATCHES/series.luajit-20220320"
toy_tree "$scratch/old" 2.1.0-beta3
"$apply" "$scratch/old" >/dev/null
same "file of the old flavour" "$(sed -n 2p "$scratch/old/src/lj_record.c")" TWO

toy_tree "$scratch/v20" 2.0.5
untouched "$scratch/v20" "LuaJIT '2.0.5' is not supported; known:"
mkdir "$scratch/empty"
untouched "$scratch/empty" "not a LuaJIT source tree"
refuses "not a directory" "$apply" "$scratch/nowhere"
refuses "usage" "$apply"

toy_tree "$scratch/foreign" 2.1.ROLLING openresty
echo 'XCFLAGS+= -DLUAJIT_USE_SDT' >"$scratch/foreign/src/Makefile"
untouched "$scratch/foreign" "already applied, or it has other tracepoints"

echo gone.patch >"$LUATRACE_PATCHES/series.luajit-rolling"
toy_tree "$scratch/rolling" 2.1.ROLLING
untouched "$scratch/rolling" "gone.patch: named in the series but missing"
