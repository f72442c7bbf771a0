#!/bin/bash
# SPDX-License-Identifier: MIT
# Functions have the names by which programs reach them: in package.loaded, in global tables, as
# methods of metatables in the registry, under strings or addresses. Nothing is asked, nothing
# changes while they are searched.
source "$(dirname "$0")/../lib.sh"
build=$1 here=$(cd "$(dirname "$0")" && pwd) include=$2 cc=$3
analyze=$build/bin/luatrace-analyze
"$cc" -shared -fPIC -O1 -I"$include" "$here/users.c" -o "$scratch/users.so"
cd "$scratch"

# One line for each C function, by its number of calls: name, whether it is a hint.
names() { # LUAJIT OPTION...
  "$build/bin/luatrace-record" -q -o t.bin -- "$@" "$here/users.lua" "$scratch" || fail "the program failed"
  "$analyze" --strict --json t.bin >json
  jq -r '.functions[] | select(.kind == "c" and .calls > 100 and .calls < 122) | "\(.calls) \(.name) \(.hint)"' json | sort -n
}
want="101 users.direct false
102 users.a.nested false
103 users.a.b.deep false
104 users_deepest false
105 users_shared false
106 users.name false
107 users.same false
108 users:method false
109 users:close false
110 users.guarded.inside false
111 users_hidden false
112 a.later.one.fn false
113 final.fn false
114 in_globals false
115 users.inherited false
116 users_class:classed false
117 :twice false
118 :anonymous false
119 users_send false
120 users_send_too false
121 coroutine.wrap_aux false"
for luajit in "$build"/bin/luajit "$build"/luajit/*-assert/src/luajit; do
  [ -x "$luajit" ] || continue
  for option in -jon -joff "-Ohotloop=1 -Ohotexit=1"; do
    # shellcheck disable=SC2086
    same "names with $option" "$(names "$luajit" $option)" "$want"
  done
done

# Without the library's file: a name from a call, with its mark, else the library and the offset. The
# library has its build ID only if the recorder read the mappings before the program ended.
build_id='(\[[0-9a-f]{16}\])?'
mv users.so gone.so
same "without the file" "$("$analyze" --json t.bin 2>err | jq -r '.functions[] |
  select(.calls == 104 or .calls == 105 or .calls == 111 or .calls == 119 or .calls == 120) | "\(.calls) \(.name) \(.hint) \(.code // "")"' |
  sed -E "s/$build_id\+?0x[0-9a-f]+/+0x/" | sort)" "104 users.so+0x false 
105 users.so+0x false 
111 unnamed true +0x
119 send true +0x
120 send true +0x"
"$analyze" --limit 0 --width 0 t.bin >text 2>err
grep -qE " unnamed\?  \(.*/users\.so$build_id\+0x[0-9a-f]+\)\$" text || fail "no mark: $(cat text)"
grep -qE '^  \(\?: ' text || fail "nothing explains the mark"
"$analyze" --report --function users.direct --limit 0 t.bin >text 2>err
! grep -q '(?: ' text || fail "a mark that is not shown is explained"
