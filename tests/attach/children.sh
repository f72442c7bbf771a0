#!/bin/bash
# SPDX-License-Identifier: MIT
#
# -p MASTER --children, as with nginx: a master that sleeps, workers that run, and workers that are
# forked during the recording, even by processes without any LuaJIT.
#
#   children.sh BUILD VIA
source "$(dirname "$0")/lib.sh"
via=$2
if [ "$via" = bpf ] && [ "$(id -u)" != 0 ]; then skip "BPF needs root"; fi

cat >"$scratch/master.lua" <<'END'
local scratch, file = arg[1], arg[2]
local ffi = require("ffi")
ffi.cdef("int fork(void); int wait(int *); int usleep(unsigned); void _exit(int);")
local work = dofile(file)
local function exists(what)
  local f = io.open(scratch .. "/" .. what)
  if f then f:close() end
  return f
end
local function worker(n)
  if ffi.C.fork() ~= 0 then return end
  io.open(scratch .. "/ready" .. n, "w"):close()
  while not exists("go") do ffi.C.usleep(50) end  -- a busy machine must not fill the ring
  work()
  io.open(scratch .. "/done" .. n, "w"):close()
  while not exists("end") do ffi.C.usleep(50) end
  ffi.C._exit(0)
end
worker(1)
worker(2)
while not exists("more") do ffi.C.usleep(10000) end
worker(3)
for i = 1, 3 do ffi.C.wait(nil) end
END
gate "$bin/luajit" "$scratch/master.lua" "$scratch" "$here/work.lua"
ready 1
ready 2
record --via $via -p $target --children
recording 3
touch "$scratch/more"
recording 4
ready 3
open_gate
for n in 1 2 3; do within 20 "worker $n" test -e "$scratch/done$n"; done
touch "$scratch/end"
ended
finish 0
same "calls of fib" "$(calls "$scratch/trace.bin" | awk '$3 == 7 { print $1 }')" 65673
same processes "$(json "$scratch/trace.bin" | jq '.trace.files[0].processes | length')" 4
same "children of the master" "$(json "$scratch/trace.bin" | jq '[.trace.files[0].processes[] | select(.parent == 1)] | length')" 3
no_anomalies "$scratch/trace.bin"

# A file for each process.
rm -f "$scratch"/{go,end,more} "$scratch"/ready* "$scratch"/done*
begin "$bin/luajit" "$scratch/master.lua" "$scratch" "$here/work.lua"
ready 1
ready 2
: >"$scratch/record.err"
"$bin/luatrace-record" -v --via $via -o "$scratch/each.%p.bin" -p $target --children 2>"$scratch/record.err" &
recorder=$!
started+=($recorder)
recording 3
touch "$scratch/more"
recording 4
ready 3
open_gate
for n in 1 2 3; do within 20 "worker $n" test -e "$scratch/done$n"; done
touch "$scratch/end"
ended
finish 0
files=("$scratch"/each.*.bin)
same files ${#files[@]} 4
same "calls of fib in all files" "$("$bin/luatrace-analyze" --json "${files[@]}" | jq '.functions[] | select(.line == 7) | .calls')" 65673

# The requested process has no LuaJIT; its children have.
rm -f "$scratch"/{go,end} "$scratch"/ready* "$scratch"/done*
begin sh -c "sleep 0.3; '$bin/luajit' '$here/gate.lua' '$scratch' '$here/work.lua' & wait; exit 0"
record --via $via -p $target --children
ready
recording
open_gate
touch "$scratch/end"
ended
finish 0
same "calls of fib" "$(calls "$scratch/trace.bin" | awk '$3 == 7 { print $1 }')" 21891

# What a program starts (os.execute, io.popen) has the program's memory until it executes something:
# its control word and ring are the program's.
cat >"$scratch/shell.lua" <<'END'
local function leaf() end
return function()
  for i = 1, 300 do
    for j = 1, 100 do leaf() end
    os.execute("true")
  end
end
END
gate "$bin/luajit" "$here/gate.lua" "$scratch" "$scratch/shell.lua"
touch "$scratch/end"
ready
record --via $via -p $target --children
recording
open_gate
ended
finish 0
same "calls of leaf" "$(json "$scratch/trace.bin" | jq '.functions[] | select(.name == "leaf") | .calls')" 30000
same "processes of a shell" "$(json "$scratch/trace.bin" | jq '.trace.files[0].processes | length')" 1
no_anomalies "$scratch/trace.bin"

# A VM has no ring before its child process has run Lua, and after it was closed: that is not a
# failure, and is not reported as one. (Freeing this heap takes longer than the recorder's next
# pass.)
if [ "$via" = direct ]; then
  cat >"$scratch/sleeper.lua" <<'END'
local ffi = require("ffi")
ffi.cdef("int fork(void); int kill(int, int); int wait(int *); unsigned sleep(unsigned);")
local heap = {}
for i = 1, 1000000 do heap[i] = {i} end
return function()
  local child = ffi.C.fork()
  if child == 0 then ffi.C.sleep(60) end
  io.open(arg[1] .. "/forked", "w"):close()
  while not io.open(arg[1] .. "/seen") do ffi.C.usleep(1000) end
  ffi.C.kill(child, 9)
  ffi.C.wait(nil)
end
END
  gate "$bin/luajit" "$here/gate.lua" "$scratch" "$scratch/sleeper.lua"
  touch "$scratch/end"
  ready
  record -p $target --children
  recording
  open_gate
  within 20 "the child" logged 'process [0-9]*: tracepoints in .*' # its parent's is the first of two
  within 20 "the child" eval '[ "$(grep -c ": tracepoints in " "$scratch/record.err")" = 2 ]'
  sleep 0.3 # the recorder checks it about ten times
  touch "$scratch/seen"
  ended
  finish 0
  ! logged 'not recorded' || fail "a Lua VM without a ring: $(grep 'not recorded' "$scratch/record.err")"
fi
