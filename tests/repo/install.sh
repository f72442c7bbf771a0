#!/bin/bash
# SPDX-License-Identifier: MIT
# cmake --install puts a LuaJIT somewhere that works from there.
#   install.sh BUILD_FOLDER CMAKE
source "$(dirname "$0")/../lib.sh"

DESTDIR=$scratch/root "$2" --install "$1" --prefix /usr >"$scratch/log" 2>&1 || { tail -n 5 "$scratch/log"; fail "cmake --install"; }
cd "$scratch/root/usr"
same output "$(bin/luajit -e 'print(1 + 1)')" 2
library=$(find . -name libluajit-5.1.so.2)
[ -f "$library" ] || fail "no library: $(find . | head -n 30)"
[ -L "${library%.2}" ] && [ -e "${library%.2}" ] || fail "no link ${library%.2}"
cat >"$scratch/host.c" <<'END'
#include <luajit.h>
#include <lauxlib.h>
int main(void) { lua_State *L = luaL_newstate(); lua_close(L); return 0; }
END
cc -I include/luajit-2.1 "$scratch/host.c" -o "$scratch/host" -L"$(dirname "$library")" -lluajit-5.1
LD_LIBRARY_PATH=$(dirname "$library") "$scratch/host" || fail "a program linked with the installed library does not run"
jit=$(dirname "$(dirname "$(find . -name vmdef.lua)")")
LUA_PATH="$PWD/$jit/?.lua" bin/luajit -jv -e 'local x = 1' || fail "jit.* modules do not load"
for tool in luatrace luatrace-record luatrace-analyze luatrace-top luatrace-fleet; do
  [ ! -x "$1/bin/$tool" ] || [ -x "bin/$tool" ] || fail "$tool was built but not installed"
done
