#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Programs that were linked statically have .eh_frame, but nothing in memory says where: their C functions are all there.
#
#   static.sh RECORD COMPILER ANALYZE default|code-with-constants|with-luajit BUILD_OF_FLAVOUR
source "$(dirname "$0")/../lib.sh"
source "$(dirname "$0")/lib.sh"
record=$1 cc=$2 analyze=$3 layout=$4 build=$5
needs_sampling "$record"

cat >"$scratch/deep.c" <<'END_C'
#include <time.h>
static volatile int sum;
__attribute__((noinline)) static int inner(int n) { for (int i = 0; i < n; i++) sum += i; return sum; }
__attribute__((noinline)) static int middle(int n) { return 1 + inner(n); }
__attribute__((noinline)) static int outer(int n) { return 1 + middle(n); }
int main(void) {
  while (clock() < CLOCKS_PER_SEC / 2) outer(100000);
  return 0;
}
END_C
option=()
[ "$layout" != code-with-constants ] || option=(-Wl,-z,noseparate-code)
if [ "$layout" = with-luajit ]; then # it has constants that look like a part of .eh_frame
  option=(-I"$build/include/luajit-2.1" "$build/libluajit-5.1.a" -lm)
  sed -i '/^int main/,$d' "$scratch/deep.c"
  cat >>"$scratch/deep.c" <<'END_C'
#include <lauxlib.h>
#include <lualib.h>
__attribute__((noinline)) static int work(lua_State *L) { return lua_pushinteger(L, outer(100000)), 1; }
int main(void) {
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  lua_register(L, "work", work);
  return luaL_loadstring(L, "while os.clock() < 0.5 do work() end") || lua_pcall(L, 0, 0, 0);
}
END_C
fi
"$cc" -O1 -fomit-frame-pointer -static "$scratch/deep.c" "${option[@]}" -o "$scratch/deep" 2>"$scratch/err" || skip "no static C library: $(head -n 1 "$scratch/err")"
! readelf -lW "$scratch/deep" | grep GNU_EH_FRAME || skip "this linker makes a search table"
"$record" --sample 997 --user-only -q -o "$scratch/s.bin" -- "$scratch/deep"
"$analyze" -q --format folded --frames L "$scratch/s.bin" >"$scratch/s.txt"
all=$(awk '/C:inner/ { n++; s += $NF } END { print s + 0 }' "$scratch/s.txt")
callers='C:main;'
[ "$layout" != with-luajit ] || callers='C:main;(C:lua_pcall;)?L:[^;]*;C:work;'
whole=$(awk -v stack="${callers}C:outer;C:middle;C:inner" '$0 ~ stack && !/unknown/ { s += $NF } END { print s + 0 }' "$scratch/s.txt")
[ "$all" -gt 100000000 ] || fail "too few samples: $(cat "$scratch/s.txt")"
same "samples with all functions" "$whole" "$all"
