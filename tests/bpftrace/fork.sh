#!/bin/bash
# SPDX-License-Identifier: MIT
# By path, forked children are traced, too. Each reports its stack first: the calls that were open
# at the fork are there, marked as already running, and nothing is lost or unbalanced.
. "$(dirname "$0")/lib.sh"

cat >"$scratch/forks.lua" <<'END'
local ffi = require("ffi")
ffi.cdef("int fork(void); int waitpid(int, int *, int); void _exit(int);")
local function leaf() end
local function inner(n)
  local child = ffi.C.fork()
  for i = 1, 10 do leaf() end
  if child == 0 then
    if n > 1 then inner(n - 1) end
    return true
  end
  ffi.C.waitpid(child, nil, 0)
end
local function outer() return (inner(2)) end
if outer() then leaf() ffi.C._exit(0) end
END
# By path means every process of that file: other tests run at the same time.
cp "$luajit" "$scratch/luajit"
luajit=$scratch/luajit
watch -o "$scratch/bt" "$probes/lua-calls.bt" "$luajit"
"$luajit" "$scratch/forks.lua"
caught_up
leave
"$analyze" --json "$scratch/bt" >"$scratch/json" || fail "cannot be read"
same "processes" "$(jq '.trace.files[0].processes | length' "$scratch/json")" 3
jq -e '.trust | .lost == 0 and .unbalanced == 0 and .bad_records == 0' "$scratch/json" >/dev/null ||
  fail "anomalies: $(jq -c .trust "$scratch/json")"
"$analyze" --dump=calls "$scratch/bt" >"$scratch/dump"
same "reports of children" "$(grep -c 'stack fork$' "$scratch/dump")" 2
# The main chunk, outer, inner; in the second child inner twice.
same "calls that were open" "$(grep -c ' frame ' "$scratch/dump")" 7
same "calls of leaf" "$(jq '[.functions[] | select(.name == "leaf") | .calls] | add' "$scratch/json")" 42
