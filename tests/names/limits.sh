#!/bin/bash
# SPDX-License-Identifier: MIT
# The search for names looks at 65,536 slots for one function and at 1,048,576 in a recording, half
# of them for C functions alone: with a huge package.loaded so many functions are searched, and the
# others keep the name of a call. Tables of data are not searched.
source "$(dirname "$0")/../lib.sh"
build=$1 include=$2 cc=$3
{
  echo '#include "lauxlib.h"'
  echo '#include "lua.h"'
  for ((i = 0; i < 64; i++)); do echo "static int f$i(lua_State *L) { lua_pushnumber(L, $i); return 1; }"; done
  echo 'int luaopen_many(lua_State *L) { lua_newtable(L);'
  for ((i = 0; i < 64; i++)); do echo "lua_pushcfunction(L, f$i); lua_setfield(L, -2, \"f$i\");"; done
  echo 'return 1; }'
} >"$scratch/many.c"
"$cc" -shared -fPIC -O1 -I"$include" "$scratch/many.c" -o "$scratch/many.so"
cat >"$scratch/huge.lua" <<'END'
local scratch, entries = arg[1], tonumber(arg[2])
package.cpath = scratch .. "/?.so"
local many = require("many")
local loaded = package.loaded
for i = 1, entries do loaded["module" .. i] = {} end
many.table = {}
for i = 1, 20000 do many.table["data" .. i] = {} end
for i = 0, 63 do
  local called = many["f" .. i]
  called()
end
END
cd "$scratch"
named() { # ENTRIES
  "$build/bin/luatrace-record" -q -o t.bin -- "$build/bin/luajit" huge.lua "$scratch" "$1"
  "$build/bin/luatrace-analyze" --strict --json t.bin >json
  same "functions" "$(jq '[.functions[] | select(.name | test("^(many[.])?f[0-9]+$"))] | length' json)" 64
  jq '[.functions[] | select(.name | test("^many[.]f[0-9]+$"))] | length' json
}
same "named in a small program" "$(named 10)" 64
[ "$(named 200000)" -le 16 ] || fail "more than 16 searches of 65,536 slots"
