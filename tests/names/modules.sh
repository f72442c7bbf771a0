#!/bin/bash
# SPDX-License-Identifier: MIT
# C functions of modules have their names although the process ends milliseconds after it loaded
# them; where the file is gone they are the library and an offset. Loaded by a relative path or not.
source "$(dirname "$0")/../lib.sh"
build=$1 here=$(cd "$(dirname "$0")" && pwd) include=$2 cc=$3
"$cc" -shared -fPIC -O1 -I"$include" "$here/module.c" -o "$scratch/module.so"
cat >"$scratch/short.lua" <<'END'
package.cpath = arg[1] .. "/?.so"
local add = require("module").plus
for i = 1, 100 do add(i, 1) end
END
cd "$scratch"

plus() { # PATH: the name of the function that is called 100 times, and where it is
  "$build/bin/luatrace-record" -q -o t.bin -- "$build/bin/luajit" short.lua "$1"
  "$build/bin/luatrace-analyze" --json t.bin 2>err | jq -r '.functions[] | select(.calls == 100) | "\(.name) \(.chunk)"'
}
for ((i = 0; i < 5; i++)); do
  same "by a path" "$(plus "$scratch")" "module_add $scratch/module.so"
  same "by a relative path" "$(plus .)" "module_add $scratch/module.so"
done
mv module.so elsewhere
same "without the file" "$("$build/bin/luatrace-analyze" --json t.bin 2>err |
  jq -r '.functions[] | select(.calls == 100) | .name' | sed -E 's/0x[0-9a-f]+/0x/')" "module.so+0x"
