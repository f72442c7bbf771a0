#!/bin/bash
# SPDX-License-Identifier: MIT
#
# With the switch off, a patched tree compiles to the same object files as an
# unpatched one, byte for byte.
#
#   [CROSS_COMPILE=PREFIX] identity.sh TARBALL_OR_TREE
source "$(dirname "$0")/../lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
from=$1

# Both are built in the same folder, so that a path in an object cannot differ;
# one .o per source is enough (BUILDMODE=static), and no debug information,
# whose line numbers may move.
build() {
  "$root/luajit-usdt/scripts/unpack" "$from" "$scratch/tree"
  [ "$1" = upstream ] || "$root/luajit-usdt/scripts/apply" "$scratch/tree" >/dev/null
  plain_make -C "$scratch/tree" BUILDMODE=static CCDEBUG= CROSS="${CROSS_COMPILE-}"
  mkdir "$scratch/$1"
  cp "$scratch"/tree/src/*.o "$scratch/$1/"
  rm -rf "$scratch/tree"
}
build upstream
build patched

count=0
for object in "$scratch"/upstream/*.o; do
  name=$(basename "$object")
  cmp "$object" "$scratch/patched/$name" || fail "$name differs from upstream's though the tracepoints are off"
  count=$((count + 1))
done
[ $count -ge 60 ] || fail "only $count objects were compared: is this LuaJIT?"

# Our own files may be compiled but must come out empty.
for object in "$scratch"/patched/*.o; do
  name=$(basename "$object")
  [ -e "$scratch/upstream/$name" ] && continue
  same "code and data of $name" "$("${CROSS_COMPILE-}size" -A "$object" | awk '/^\.(text|data|bss|rodata|tdata|tbss|probes|eh_frame)/ { n += $2 } END { print n + 0 }')" 0
done
echo "$count objects are identical"
