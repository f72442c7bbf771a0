#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The walker of Lua stacks, at each machine instruction of a program that keeps its own stack: no
# wrong stack, interpreted (nojit) and compiled (jit).
#
#   step.sh BUILD_OF_FLAVOUR COMPILER jit|nojit STEPS
source "$(dirname "$0")/../lib.sh"
here=$(cd "$(dirname "$0")" && pwd) root=$(cd "$(dirname "$0")/../.." && pwd)
build=$1 cc=$2 mode=$3 steps=$4
[ "$(uname -m)" = x86_64 ] || skip "the walker knows x86-64 only"

"$cc" -std=gnu11 -O2 -Wall -Wextra -I"$root" -I"$build/include/luajit-2.1" "$here/step.c" -o "$scratch/step" \
  -L"$build" -lluajit-5.1 -ldl -rdynamic
cd "$here"
LD_LIBRARY_PATH=$build "$scratch/step" step.lua "$steps" "$mode"
