#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Tracers of single events that attach and detach while a process is recorded in another way: they
# get reports of the existing stacks, and the first recording (direct, or in blocks) does not notice
# them.
#
#   joined.sh BUILD VIA
source "$(dirname "$0")/lib.sh"
via=$2
[ "$(id -u)" = 0 ] || skip "bpftrace needs root"
command -v bpftrace >/dev/null || skip "no bpftrace here (Debian: bpftrace)"
need_way "$via"

# Calls that run all the time: outer, middle, inner, and the body of a coroutine, suspended in nested().
cat >"$scratch/deep.lua" <<'END'
local scratch = arg[1]
local ffi = require("ffi")
ffi.cdef("int usleep(unsigned);")
local function exists(what)
  local f = io.open(scratch .. "/" .. what)
  if f then f:close() end
  return f
end
local function leaf(x) return x + 1 end
local function nested(n) while n > 0 do n = leaf(n) - 2 coroutine.yield(n) end end
local function body() nested(1e9) return "done" end
local co = coroutine.create(body)
local function inner()
  coroutine.resume(co)
  io.open(scratch .. "/ready", "w"):close()
  for turn = 1, 2e6 do
    if exists("go") or turn % 1000 == 0 and not exists(".") then break end
    coroutine.resume(co)
    coroutine.wrap(function() coroutine.yield(leaf(1)) end)()
    ffi.C.usleep(50)  -- a busy machine must not fill the ring
    if exists("ask") then os.remove(scratch .. "/ask") end
  end
  return 1
end
local function middle() return inner() + 1 end
local function outer() return middle() + 1 end
outer()
END
gate "$bin/luajit" "$scratch/deep.lua" "$scratch"
ready
record --via $via -p $target
recording
# On a busy machine bpftrace itself may lose events, and says so: then that round proves nothing.
trace_for_a_round() {
  rm -f "$scratch/second"
  BPFTRACE_PERF_RB_PAGES=4096 bpftrace -p $target -o "$scratch/second" "$here/../../probes/lua-calls.bt" 2>"$scratch/second.err" &
  second=$!
  started+=($second)
  within 60 "bpftrace" grep -qs '^S' "$scratch/second"
  for round in 1 2; do  # between the two, all of the loop has run once
    touch "$scratch/ask"
    within 20 "the program" test ! -e "$scratch/ask"
  done
  kill -INT $second
  wait $second || fail "bpftrace: $(cat "$scratch/second.err")"
  [ "$(json "$scratch/second" | jq .trust.lost)" = 0 ]
}
for i in 1 2; do
  for try in {1..10}; do trace_for_a_round && break; done
  no_anomalies "$scratch/second"
  for name in outer middle inner body; do
    [ "$(json "$scratch/second" | jq "[.functions[] | select(.name == \"$name\") | .wall_ns] | add // 0")" -gt 0 ] ||
      fail "bpftrace got no report of $name()"
  done
done
touch "$scratch/go"
ended
finish 0
no_anomalies "$scratch/trace.bin"
# Each stack is reported once: that of the main thread, and that of the coroutine that was there.
"$bin/luatrace-analyze" --dump "$scratch/trace.bin" | grep -cE '^[0-9]+ 1 stack ' >"$scratch/stacks" || true
same "reports of stacks" "$(cat "$scratch/stacks")" 2
