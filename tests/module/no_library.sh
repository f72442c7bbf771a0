#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The Lua module contains nothing of the C++ library, and needs nothing but the C library and LuaJIT.
#
#   no_library.sh MODULE
source "$(dirname "$0")/../lib.sh"
readelf -dW "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort >"$scratch/needed"
! grep -vE '^(libc|libm)\.so\.6$|^ld-linux' "$scratch/needed" >&2 || fail "$1 needs other libraries"
nm -C "$1" | sed 's/^[0-9a-f ]\{17\}//' | grep -E '^[TtUDdBbRr] (std::|__cxxabiv1|_Unwind_|operator )' >"$scratch/found" || true
[ ! -s "$scratch/found" ] || fail "$1 has symbols of the C++ library: $(head -n 5 "$scratch/found")"
