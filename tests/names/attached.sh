#!/bin/bash
# SPDX-License-Identifier: MIT
# A recorder attaches inside a coroutine: what runs there gets its id before the chunk around it is
# seen, from a call with another name (passed) or from none (body). Both have the name of their
# definition once the stack of the main thread is reported.
#
#   attached.sh BUILD
source "$(dirname "$0")/../attach/lib.sh"
cat >"$scratch/names.lua" <<'END'
local scratch = arg[1]
local function exists() return io.open(scratch .. "/go") end
local function waiting() for i = 1, 1e8 do if exists() then return end end error("waited too long") end
local function body()
  local passed = waiting
  passed()
  coroutine.yield()
end
local function outer() coroutine.wrap(body)() end
io.open(scratch .. "/ready", "w"):close()
outer()
END
gate "$bin/luajit" "$scratch/names.lua" "$scratch"
ready
record --via direct -p $target
recording
open_gate
ended
finish 0
no_anomalies "$scratch/trace.bin"
same names "$(json "$scratch/trace.bin" | jq -r '.functions[] | select(.kind == "lua" and .line > 0) | "\(.line) \(.name) \(.hint)"' | sort -n)" \
  "2 exists false
3 waiting false
4 body false
9 outer false"

# Functions of modules that were loaded before the recorder came: no definition is seen. The second
# module is stripped; functions made by one definition have no name of their own.
cat >"$scratch/plain.lua" <<'END'
local M = { inner = {} }
M.__index = M
local function hidden() return 1 end
function M.get() return hidden() end
M.inner.work = function() return M.get() end
local function make() return function() return 2 end end
M.first, M.second = make(), make()
return M
END
"$bin/luajit" -e "local f = assert(io.open(arg[2], 'wb')) f:write(string.dump(assert(loadfile(arg[1])), true)) f:close()" \
  "$scratch/plain.lua" "$scratch/plain.lua" "$scratch/bare.lua"
cat >"$scratch/modules.lua" <<'END'
local scratch = arg[1]
package.path = scratch .. "/?.lua"
package.loaded["app.plain"] = require("plain")
package.loaded.plain = nil
local bare = require("bare")
local plain = package.loaded["app.plain"]
local function exists() return io.open(scratch .. "/go") end
local function waiting() for i = 1, 1e8 do if exists() then return end end error("waited too long") end
io.open(scratch .. "/ready", "w"):close()
waiting()
for i = 1, 200 do
  plain.inner.work() plain.first() plain.second()
  bare.inner.work() bare.first() bare.second()
end
END
for option in -jon -joff; do
  gate "$bin/luajit" "$option" "$scratch/modules.lua" "$scratch"
  ready
  record --via direct -p $target
  recording
  open_gate
  ended
  finish 0
  no_anomalies "$scratch/trace.bin"
  json "$scratch/trace.bin" >"$scratch/json"
  same "names of a module, $option" "$(jq -r '.functions[] | select(.chunk | endswith("plain.lua")) | "\(.line) \(.name) \(.hint)"' "$scratch/json" | sort -n)" \
    "3 hidden true
4 app.plain.get false
5 app.plain.inner.work false
6 first true"
  same "names of a stripped module, $option" "$(jq -r '.functions[] | select(.code) | select(.hint | not) | .name' "$scratch/json" | sort | xargs)" \
    "bare.get bare.inner.work"
done
