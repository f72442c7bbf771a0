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
local function waiting() while not exists() do end end
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
