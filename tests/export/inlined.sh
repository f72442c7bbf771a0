#!/bin/bash
# SPDX-License-Identifier: MIT
# --symbols of a C module that was recorded: exactly the functions that the compiler inlined into
# its functions, and the messages where that is not known.
#   inlined.sh BIN CC
source "$(dirname "$0")/../lib.sh"
bin=$1 cc=$2
analyze=$bin/luatrace-analyze
cd "$scratch"

cat >buf.h <<'END_OF_CODE'
#define INLINE static inline __attribute__((always_inline))
extern volatile int cells[16];
INLINE void grow(int n) { cells[n & 15] = n; }
INLINE void append(int n) {
  grow(n);
}
END_OF_CODE
cat >cells.c <<'END_OF_CODE'
#include "buf.h"
volatile int cells[16];
typedef struct lua_State lua_State;
typedef int (*lua_CFunction)(lua_State *);
extern long lua_tointeger(lua_State *, int);
extern void lua_pushinteger(lua_State *, long);
extern void lua_pushcclosure(lua_State *, lua_CFunction, int);
extern void lua_createtable(lua_State *, int, int);
extern void lua_setfield(lua_State *, int, const char *);
INLINE int escape(int n) { return n ^ cells[1]; }
static int encode(lua_State *L) {
  int n = (int)lua_tointeger(L, 1);
  append(n);
  append(escape(n)); append(escape(n + 1));
  lua_pushinteger(L, n);
  return 1;
}
static int plain(lua_State *L) {
  lua_pushinteger(L, 1);
  return 1;
}
extern int other(lua_State *L);
extern int other_twin(lua_State *L);
int twin_of(lua_State *L);
static __attribute__((noinline)) int twin(lua_State *L) {
  lua_pushinteger(L, cells[2]);
  return 1;
}
int luaopen_cells(lua_State *L) {
  lua_createtable(L, 0, 4);
  lua_pushcclosure(L, encode, 0);
  lua_setfield(L, -2, "encode");
  lua_pushcclosure(L, plain, 0);
  lua_setfield(L, -2, "plain");
  lua_pushcclosure(L, twin, 0);
  lua_setfield(L, -2, "twin");
  twin_of(L);
  lua_setfield(L, -2, "other");
  return 1;
}
END_OF_CODE
# Another function of the same name.
cat >twin.c <<'END_OF_CODE'
#include "buf.h"
typedef struct lua_State lua_State;
extern void lua_pushinteger(lua_State *, long);
extern void lua_pushcclosure(lua_State *, int (*)(lua_State *), int);
static __attribute__((noinline)) int twin(lua_State *L) {
  grow(3);
  lua_pushinteger(L, 7);
  return 1;
}
void twin_of(lua_State *L) { lua_pushcclosure(L, twin, 0); }
END_OF_CODE
cat >run.lua <<'END_OF_CODE'
package.cpath = "./?.so"
local c = require "cells"
for i = 1, 10 do c.encode(i) end
for i = 1, 3 do c.plain() end
for i = 1, 5 do c.twin() end
for i = 1, 2 do c.other() end
END_OF_CODE

view() { "$analyze" --symbols --json "$@" 2>err >out || fail "--symbols $*: $(cat err)"; }
# tree: the rows, without numbers that the compiler chooses.
tree() {
  jq -r '.symbols[]|select((.module|endswith("/cells.so")) and .name != "luaopen_cells")|
    "\(.depth) \(.name) \(.defined_file):\(.defined_line) \(.called_file):\(.called_line) x\(.times) calls \(.calls)"' out |
    sed "s|[^ ]*/||g; s/ null:null//; s/ xnull//; s/ calls null//" 
}
in_encode="1 cells.encode cells.c:11 calls 10
2 append buf.h:4 cells.c:13 x1
3 grow buf.h:3 buf.h:5 x1"
for compiler in "$cc" clang; do
  for version in 4 5; do
    case="$compiler, DWARF $version"
    "$compiler" -g "-gdwarf-$version" -O2 -fPIC -shared -Wl,--build-id=sha1 -o cells.so cells.c twin.c || fail "$case: no module"
    # Loaded at the beginning: the program may be over before the recorder reads its mappings.
    "$bin/luatrace-record" -q -o trace.bin -- env "LD_PRELOAD=$scratch/cells.so" "$bin/luajit" run.lua || fail "$case: cannot record"
    view trace.bin --limit 0
    tree | sort >rows
    # The order of the functions depends on their times; inlined ones follow the function that
    # contains them.
    for row in "1 cells.encode cells.c:11 calls 10" "2 append buf.h:4 cells.c:13 x1" "2 append buf.h:4 cells.c:14 x2" \
      "3 grow buf.h:3 buf.h:5 x2" "2 escape cells.c:10 cells.c:14 x2" "1 cells.plain cells.c:18 calls 3" \
      "1 cells.twin cells.c:25 calls 5" "1 cells.other twin.c:5 calls 2" "2 grow buf.h:3 twin.c:6 x1"; do
      grep -qxF "$row" rows || fail "$case: no row '$row' in
$(cat rows)"
    done
    same "$case: number of rows" 10 "$(wc -l <rows)"
    tree | grep -A 2 "^1 cells.encode" >behind
    same "$case: what is in encode" "$in_encode" "$(cat behind)"
    # Each row is a child of the named row, one level deeper.
    jq -e '.symbols as $s | all($s[]; if .parent == 0 then .depth == 1 else $s[.parent - 1].depth == .depth - 1 and .node > .parent end)' out >/dev/null ||
      fail "$case: wrong parents or depths: $(jq -c '.symbols[]|[.node,.parent,.depth]' out)"
    jq -e 'all(.symbols[]|select(.kind == "inlined"); .calls == null and .self_ns == null and .code_bytes != null)' out >/dev/null ||
      fail "$case: an inlined function has calls or times"
    # Their self times are that of the function.
    jq -e '[.symbols[]|select(.name == "cells.twin" or .name == "cells.other").self_ns]|add' out >sum
    same "$case: self times of two places" "$(jq '[.functions[]|select(.name == "cells.twin" or .name == "cells.other").self_ns]|add' out)" "$(cat sum)"
    same "$case: counts" "[5,0]" "$(jq -c '.symbols[]|select(.name == "cells.encode")|[.inlined,.left_out]' out)"
  done
done
id=$(readelf -n cells.so | sed -n 's/.*Build ID: //p')
same "file and build-id" "[\"$scratch/cells.so\",\"$id\",\"$scratch/cells.so\",\"symtab\"]" \
  "$(jq -c '.symbols[]|select(.name == "cells.encode")|[.module,.build_id,.read_from,.named_by]' out)"
same "offset" "$(printf '"0x%x"' "0x$(nm cells.so | sed -n 's/ t encode$//p')")" "$(jq '.symbols[]|select(.name == "cells.encode").offset' out)"

# As text, with as many rows as requested.
"$analyze" --symbols --sort calls --limit 1 trace.bin >text
grep -q '^ *10 .* 5  cells.encode  *cells.c:11  .*cells.so  *symtab  *0x' text || fail "text: $(cat text)"
grep -qE '^ *- .*  -    append +buf.h:4 +cells.c:1[34]' text || fail "text: $(cat text)"
grep -qx '  (4 more inlined functions: --limit 0 shows all)' text || fail "text: $(cat text)"
grep -qE '^  \([0-9]+ more: --limit 0 shows all\)$' text || fail "text: $(cat text)"
view trace.bin --sort calls --limit 1
same "left out" '[[10,5,4],[null,null,null]]' "$(jq -c '[.symbols[]|[.calls,.inlined,.left_out]]' out)"
"$analyze" --csv --symbols --limit 0 trace.bin >csv
view trace.bin --limit 0
same "rows of CSV" "$(($(jq '.symbols|length' out) + 1))" "$(wc -l <csv)"

# Filters.
view trace.bin --limit 0 --function cells.encode
same "--function" cells.encode "$(jq -r '.symbols[]|select(.depth == 1).name' out)"
view trace.bin --limit 0 -N cells.encode
same "-N" "" "$(jq -r '.symbols[]|select(.name == "cells.encode").name' out)"
view trace.bin --kind lua
same "--kind lua" "[]" "$(jq -c .symbols out)"
"$analyze" --symbols --kind lua trace.bin | grep -x >/dev/null '  (no C functions)' || fail "no C functions: $("$analyze" --symbols --kind lua trace.bin)"

# Merged with itself: twice the calls, the same places.
cp trace.bin again.bin
view trace.bin again.bin --limit 0
same "merged" 20 "$(jq '.symbols[]|select(.name == "cells.encode").calls' out)"

# Stripped, and with its debug file.
objcopy --only-keep-debug cells.so cells.debug
strip cells.so
view trace.bin --limit 0
same "stripped" '[null]' "$(jq -c '[.symbols[]|select(.module|endswith("/cells.so")).inlined]|unique' out)"
"$analyze" --symbols trace.bin | grep >/dev/null 'no debug information for [0-9]* functions*, so what was inlined is unknown' || fail "stripped: no message"
mkdir -p "debug/.build-id/${id:0:2}"
mv cells.debug "debug/.build-id/${id:0:2}/${id:2}.debug"
view trace.bin --limit 0 --debug-dir debug
tree | grep -A 2 "^1 cells.encode" >behind
same "debug file" "$in_encode" "$(cat behind)"
same "read from" "\"$PWD/debug/.build-id/${id:0:2}/${id:2}.debug\"" "$(jq '.symbols[]|select(.name == "cells.encode").read_from' out)"

# A saved profile has no addresses.
"$analyze" -q --save-profile profile trace.bin 2>/dev/null
status=0
"$analyze" --symbols profile 2>err >/dev/null || status=$?
same "status with a profile" 1 $status
grep -q 'profile: a saved profile has no events, which --symbols needs' err || fail "profile: $(cat err)"
exit 0
