#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The example of a profiler (examples/profiler) finds the ABI note of a stripped library and of a
# stripped static program in memory, and by it every call of every coroutine.
#
#   profiler.sh BUILD_OF_FLAVOUR COMPILER
source "$(dirname "$0")/../lib.sh"
here=$(dirname "$0") root=$(cd "$(dirname "$0")/../.." && pwd) build=$1 cc=$2

"$cc" -std=gnu11 -O1 -Wall -Wextra -Werror -I"$root/luajit-usdt/src" "$root/examples/profiler/lua-stacks.c" -o "$scratch/lua-stacks"
cat >"$scratch/host.c" <<'END_C'
#include <lauxlib.h>
#include <lualib.h>
int main(int argc, char **argv) {
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  return argc < 2 || luaL_dofile(L, argv[1]);
}
END_C
"$cc" -I"$build/include/luajit-2.1" "$scratch/host.c" -o "$scratch/host" -L"$build" -lluajit-5.1
strip -o "$scratch/libluajit-5.1.so.2" "$build/libluajit-5.1.so.2"
strip -o "$scratch/luajit" "$build/luajit"

cat >"$scratch/expected" <<'END_TEXT'
 coroutine
  io.read
  L:@profiler.lua:6
  pcall
  L:@profiler.lua:11
  L:@profiler.lua:17
  L:@profiler.lua:24
 coroutine
  coroutine.wrap_aux
  L:@profiler.lua:26
  L:@profiler.lua:30
 coroutine
  coroutine.resume
  L:@profiler.lua:33
END_TEXT

mkfifo "$scratch/input"
cp "$here/profiler.lua" "$scratch/"
cd "$scratch"
for program in ./host ./luajit; do
  LD_LIBRARY_PATH=$scratch "$program" profiler.lua <input >output &
  pid=$!
  exec 9>input
  within 30 "$program to wait" grep -q ready output
  within 30 "$program to sleep" grep -q '^State:.S' "/proc/$pid/status"
  status=0
  ./lua-stacks "$pid" >found 2>errors || status=$?
  ! grep -q 'not permitted' errors || skip "ptrace is not permitted here"
  same "exit statuses" $status 0
  # Not compared: addresses, and the C function of the command line.
  sed -e 's/ 0x[0-9a-f]*$//' -e '/^Lua VM/d' -e '/^  C:/d' found >stacks
  diff expected stacks || { cat found; fail "$program: wrong stacks"; }
  echo >&9
  exec 9>&-
  wait "$pid"
  same "results of $program" "$(tail -n 1 output)" "true	1"
done

refuses "no LuaJIT with an ABI note" ./lua-stacks $$
