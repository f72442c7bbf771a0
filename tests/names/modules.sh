#!/bin/bash
# SPDX-License-Identifier: MIT
# C functions of modules have their names although the process ends milliseconds after it loaded
# them: what the program calls them, else their symbols, else, where the file is gone, what a call
# named them, or the library and an offset. Loaded by a relative path or not.
source "$(dirname "$0")/../lib.sh"
build=$1 here=$(cd "$(dirname "$0")" && pwd) include=$2 cc=$3
"$cc" -shared -fPIC -O1 -I"$include" "$here/module.c" -o "$scratch/module.so"
cat >"$scratch/short.lua" <<'END'
package.cpath = arg[1] .. "/?.so"
local add = require("module").plus
if arg[2] == "forget" then package.loaded.module = nil end
local functions = { add }
for i = 1, 100 do
  if arg[3] then functions[1](i, 1) else add(i, 1) end
end
END
cd "$scratch"

plus() { # PATH [forget [unnamed]]: the name of the function that is called 100 times, and where it is
  "$build/bin/luatrace-record" -q -o t.bin -- "$build/bin/luajit" short.lua "$@"
  "$build/bin/luatrace-analyze" --json t.bin 2>err | jq -r '.functions[] | select(.calls == 100) | "\(.name) \(.chunk)"'
}
for ((i = 0; i < 5; i++)); do
  same "by a path" "$(plus "$scratch" forget)" "module_add $scratch/module.so"
  same "by a relative path" "$(plus . forget)" "module_add $scratch/module.so"
done
same "in package.loaded" "$(plus .)" "module.plus $scratch/module.so"
same "named by a call, in no table" "$(plus . forget)" "module_add $scratch/module.so"
mv module.so elsewhere
same "named by a call, without the file" "$("$build/bin/luatrace-analyze" --json t.bin 2>err |
  jq -r '.functions[] | select(.calls == 100) | .name, .hint, .code' | sed -E 's/0x[0-9a-f]+/0x/' | xargs)" "add true 0x"
mv elsewhere module.so
plus . forget unnamed >/dev/null
mv module.so elsewhere
# With the build id, if the recorder had a look at the process before it ended.
same "without the file" "$("$build/bin/luatrace-analyze" --json t.bin 2>err |
  jq -r '.functions[] | select(.calls == 100) | .name' | sed -E 's/\[[0-9a-f]{8,}\]//; s/0x[0-9a-f]+/0x/')" "module.so+0x"
