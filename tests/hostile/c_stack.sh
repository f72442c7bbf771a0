#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Calls that nest in the C stack: coroutines that resume each other, C functions that call back.
# Programs that run untraced with some stack to spare run traced, too; others end in a Lua error, and
# the trace is correct.
source "$(dirname "$0")/../lib.sh"
build=$1
cat >"$scratch/nest.lua" <<'END'
local kind, n = arg[1], tonumber(arg[2])
local function wrap(k) if k == 0 then return 0 end return 1 + coroutine.wrap(wrap)(k - 1) end
local function resume(k)
  if k == 0 then return 0 end
  local ok, v = coroutine.resume(coroutine.create(resume), k - 1)
  return ok and 1 + v or error(v, 0)
end
local function gsub(k)
  if k == 0 then return 0 end
  local v
  string.gsub("x", "x", function() v = 1 + gsub(k - 1) end)
  return v
end
local function meta(k)
  if k == 0 then return 0 end
  local v
  tostring(setmetatable({}, { __tostring = function() v = 1 + meta(k - 1) return "" end }))
  return v
end
local function sort(k)
  if k == 0 then return 0 end
  local v
  table.sort({ 1, 2 }, function() v = v or 1 + sort(k - 1) return false end)
  return v
end
local ok, v = pcall(({ wrap = wrap, resume = resume, gsub = gsub, meta = meta, sort = sort })[kind], n)
print(ok and v or "error: " .. tostring(v):match("[^:]*$"))
END

# nests KIND DEPTH STACK_KB PATTERN OPTIONS: prints the program's output, traced
nests() {
  local status=0 output
  (ulimit -s "$3" && exec "$build/bin/luatrace-record" --max-size 200M --c-functions all -o "$scratch/trace.bin" -- \
    "$build/bin/luajit" ${5-} "$scratch/nest.lua" "$1" "$2") >"$scratch/out" 2>"$scratch/err" || status=$?
  [ $status = 0 ] || fail "$1 $2 with $3 KB: status $status: $(cat "$scratch/out" "$scratch/err")"
  output=$(cat "$scratch/out")
  [[ $output =~ $4 ]] || fail "$1 $2 with $3 KB: '$output', not '$4'"
  "$build/bin/luatrace-analyze" --json "$scratch/trace.bin" | jq -e '.trust | .unbalanced + .bad_records == 0' >/dev/null ||
    fail "$1 $2 with $3 KB: $("$build/bin/luatrace-analyze" "$scratch/trace.bin" | tail -1)"
}
for jit in -jon -joff; do
  nests wrap 30000 8192 '^30000$' $jit
  nests resume 60000 8192 '^60000$' $jit
  nests wrap 1500 256 '^1500$' $jit
  nests resume 20000 256 '^error: .*stack overflow$' $jit
  nests wrap 4000 256 '^error: .*stack overflow$' $jit
done
nests gsub 12 256 '^12$'  # its buffer takes 16 KB of each level, traced or not
for kind in meta sort; do
  nests $kind 800 256 '^800$'
  nests $kind 100000 8192 'overflow'
done
