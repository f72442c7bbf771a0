#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Without CMake: apply, then LuaJIT's own make with the switch on (off: identity.sh). -O0: what is compiled matters, not how well.
#
#   plainmake.sh TARBALL_OR_TREE
source "$(dirname "$0")/../lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)

"$root/luajit-usdt/scripts/unpack" "$1" "$scratch/tree"
"$root/luajit-usdt/scripts/apply" "$scratch/tree"
flags=(XCFLAGS="-O0 -DLUAJIT_USE_SDT" HOST_CFLAGS=-O0)
plain_make -C "$scratch/tree" "${flags[@]}"
same output "$("$scratch/tree/src/luajit" -e 'print(type(jit.version))')" string
for file in luajit libluajit.so; do
  readelf -n "$scratch/tree/src/$file" | grep >/dev/null 'Provider: luajit' || fail "src/$file has no tracepoints"
done

# Nothing is compiled again without a change; a changed header of ours has every object that knows
# the VM's structures compiled again, and the tool that knows their offsets.
compiled() {
  env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u CFLAGS -u LDFLAGS make -n -C "$scratch/tree" "${flags[@]}" |
    grep -oE '(host/buildvm|lj_gc|lj_ltring)\.c$' | sort -u | tr '\n' ' '
}
same "compiled again" "$(compiled)" ""
touch "$scratch/tree/src/luatrace_file.h"
same "compiled after a change" "$(compiled)" "host/buildvm.c lj_gc.c lj_ltring.c "
