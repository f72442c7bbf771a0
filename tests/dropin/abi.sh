#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A program linked with the original library cannot tell the difference: soname,
# exported symbols, default paths, version.
#
#   abi.sh FLAVOUR BUILD_OF_FLAVOUR COMPILER
#
# Exports are compared with upstream's own build. (Debian removes the symbol
# luaJIT_version_2_1_..., so ours are a superset of Debian's.)
source "$(dirname "$0")/../lib.sh"
flavour=$1 ours=$2 theirs=$2-upstream cc=$3
[ -x "$theirs/luajit" ] || skip "the unpatched build of $flavour is not there (LUAJIT_VARIANTS)"

soname() { readelf -d "$1/libluajit-5.1.so.2" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p'; }
same sonames "$(soname "$ours")" libluajit-5.1.so.2
same sonames "$(soname "$ours")" "$(soname "$theirs")"

exports() { nm -D --defined-only "$1" | awk '{ print $2, $3 }' | sort; }
for file in libluajit-5.1.so.2 luajit; do
  exports "$ours/$file" | grep -vE ' (luaJIT_trace|luajit_usdt|otel_thread_ctx_v1$)' >"$scratch/ours"
  exports "$theirs/$file" >"$scratch/theirs"
  [ "$(wc -l <"$scratch/theirs")" -gt 100 ] || fail "hardly any symbols in $theirs/$file"
  diff "$scratch/theirs" "$scratch/ours" || fail "$file: other exported symbols than upstream's (and ours with our prefixes)"
done

needed() { readelf -d "$1/libluajit-5.1.so.2" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | sort; }
same "needed libraries" "$(needed "$ours")" "$(needed "$theirs")"

facts='print(jit.version, jit.version_num, package.path, package.cpath)'
ask() { env -u LUA_PATH -u LUA_CPATH -u LUA_INIT "$1/luajit" -e "$facts"; }
same "version and paths" "$(ask "$ours")" "$(ask "$theirs")"

# What `luajit -v` of Debian's own binary packages says; LuaJIT's own v2.1 is in none, its version
# is the time of the commit.
case $flavour in
  openresty-20250117) version="LuaJIT 2.1.1737090214" libdir=luajit-2.1 ;;
  luajit-20260819) version="LuaJIT 2.1.1787165859" libdir=luajit-2.1 ;;
  luajit2-20230119 | luajit-20220320) version="LuaJIT 2.1.0-beta3" libdir=luajit-2.1.0-beta3 ;;
  *) version= ;;
esac
if [ -n "$version" ]; then
  same versions "$(ask "$ours" | cut -f1)" "$version"
  ask "$ours" | grep -F >/dev/null "/usr/share/$libdir/?.lua;" || fail "package.path is not Debian's: $(ask "$ours")"
  ask "$ours" | grep -E >/dev/null "/usr/lib/[a-z0-9_]+-linux-gnu/lua/5.1/\?\.so" || fail "package.cpath is not Debian's: $(ask "$ours")"
fi

# Linked with theirs, run with ours.
cat >"$scratch/host.c" <<'END'
#include <lauxlib.h>
#include <lualib.h>
int main(void) {
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  int bad = luaL_dostring(L, "local s = 0 for i = 1, 1e5 do s = s + i end assert(s == 5000050000) print'ran'");
  lua_close(L);
  return bad;
}
END
"$cc" -I"$theirs/include/luajit-2.1" "$scratch/host.c" -o "$scratch/host" -L"$theirs" -lluajit-5.1
same output "$(LD_LIBRARY_PATH=$ours "$scratch/host")" ran
