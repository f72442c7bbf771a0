#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The fork on i386, with a cross compiler; the kernel of x86-64 runs it.
#
#   i386.sh build SOURCE TO FLAVOUR                  the traced LuaJIT and the C module, into TO
#   i386.sh conformance TO CONFORMANCE_TEST MODE     every program of tests/conformance but two
source "$(dirname "$0")/../lib.sh"
tests=$(cd "$(dirname "$0")/.." && pwd)
cross=i686-linux-gnu- libraries=/usr/i686-linux-gnu/lib
loader=$libraries/ld-linux.so.2
[ "$(uname -m)" = x86_64 ] || skip "nothing was run on i386: this is no x86-64"
for needed in "${cross}gcc" $loader; do
  [ -e "$needed" ] || command -v "$needed" >/dev/null ||
    skip "nothing was run on i386: no $needed (gcc-i686-linux-gnu, libc6-dev-i386-cross)"
done

# The tools that LuaJIT's build runs have pointers of 32 bits, too: the same compiler makes them.
build() {
  local to=$2 luajit=$2/$3-assert
  mkdir -p "$to"
  "$tests/../luajit-usdt/scripts/build-tree" --from "$1" --to "$luajit" --variant assert --once \
    --cc "${cross}gcc" --cross "$cross" --jobs 2
  "${cross}gcc" -shared -fPIC -Wall -Wextra -I"$luajit/include/luajit-2.1" \
    "$tests/conformance/conformance_module.c" -o "$to/conformance_module.so"
  same "what it is" "$($loader --library-path $libraries "$luajit/luajit" -e 'print(jit.arch, (jit.status()))')" $'x86\ttrue'
}

# Unpatched, too, these fail on i386: the compiler loses an operand of `..` in meta_concat_eight, and an error
# that leaves a callback through qsort() crashes ffi_calls.
conformance() {
  LUATRACE_TEST_EMULATOR="$loader --library-path $libraries" \
    "$tests/options/options.sh" conformance "$1" "$2" "$3" meta_concat_eight ffi_calls
}

"$@"
