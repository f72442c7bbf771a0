#!/bin/bash
# SPDX-License-Identifier: MIT
#
# images/check --facts names each option with which a library was built otherwise than the image's, and
# refuses what facts.sh has not written. Of real programs: nginx.layout, containers.image.
source "$(dirname "$0")/../lib.sh"
check=$(cd "$(dirname "$0")/../.." && pwd)/images/check
cd "$scratch"

# facts [NAME VALUE]: those of an image, but for this one
facts() {
  local name
  for name in nginx library tracepoints version architecture GC64 compiler LUAJIT_ENABLE_LUA52COMPAT LUAJIT_NUMMODE=2; do
    [ "$name" = "${1-}" ] && echo "$name: $2" || echo "$name: yes"
  done
}
# says STATUS LINE... CHANGED ORIGINAL: the status, the lines of differences and the last one
says() {
  local status=0
  "$check" --facts "$2" "$3" >out 2>err || status=$?
  same "check $2 $3" "$status $(sed -n 's/^  //p' out) $(tail -qn 1 out err | tail -n 1)" "$1"
}
facts >original
says "0  yes" original original
for option in LUAJIT_NUMMODE=2 LUAJIT_ENABLE_LUA52COMPAT GC64 architecture compiler version; do
  facts $option no >changed
  says "1 $option: no instead of yes  no: these differ from original" changed original
done
facts tracepoints no >changed
says "1  no: the LuaJIT of changed has no tracepoints" changed original

echo garbage >garbage
: >empty
mkdir folder
for bad in garbage empty; do
  says "2  check: $bad: no output of facts.sh" $bad original
  says "2  check: $bad: no output of facts.sh" original $bad
done
for bad in folder missing; do
  says "2  check: $bad: cannot read" $bad original
  says "2  check: $bad: cannot read" original $bad
done
refuses "no-such-engine: no such program \(--engine\)" "$check" --engine no-such-engine image
refuses usage "$check" --facts
refuses usage "$check" --nonsense original
