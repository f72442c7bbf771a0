#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What lua_resume() publishes for walkers, with LuaJIT's own checks, recorded and not.
#
#   resumer.sh BUILD_OF_FLAVOUR COMPILER RECORDER
source "$(dirname "$0")/../lib.sh"
build=$1-assert cc=$2 recorder=$3
[ -e "$build/libluajit-5.1.a" ] || skip "the build with LuaJIT's checks is not there (LUAJIT_VARIANTS)"

"$cc" -std=gnu11 -g -O1 -Wall -Wextra -DLUAJIT_USE_SDT -DLUA_USE_ASSERT -I"$build/src" \
  "$(dirname "$0")/resumer.c" -o "$scratch/resumer" -rdynamic "$build/libluajit-5.1.a" -lm -ldl
"$scratch/resumer" || fail "see above"
"$recorder" -o "$scratch/trace.bin" -- "$scratch/resumer" >"$scratch/log" 2>&1 ||
  { cat "$scratch/log"; fail "recorded: see above"; }
