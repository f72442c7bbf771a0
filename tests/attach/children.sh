#!/bin/bash
# SPDX-License-Identifier: MIT
#
# -p MASTER --children, as with nginx: a master that sleeps, workers that run, and workers that are
# forked during the recording, even by processes without any LuaJIT.
#
#   children.sh BUILD VIA
source "$(dirname "$0")/lib.sh"
via=$2
need_way "$via"

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
local function wait(what, us)
  for turn = 1, 3e8 / (us + 50) do
    if exists(what) then return end
    if turn % 1000 == 0 and not exists(".") then break end  -- the test has failed
    ffi.C.usleep(us)
  end
  error("waited too long for " .. what)
end
local function worker(n)
  if ffi.C.fork() ~= 0 then return end
  io.open(scratch .. "/ready" .. n, "w"):close()
  wait("go", 50)  -- a busy machine must not fill the ring
  work()
  io.open(scratch .. "/done" .. n, "w"):close()
  wait("end", 50)
  ffi.C._exit(0)
end
worker(1)
worker(2)
wait("more", 10000)
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

complete() { "$bin/luatrace-analyze" --json "$1" 2>/dev/null | jq -e '.trace.files[0].ended' >/dev/null; }

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

# The file of a process is complete before the others have ended, and the recording continues: not
# all of its files are full.
rm -f "$scratch"/{go,end} "$scratch"/ready* "$scratch"/done* "$scratch"/each.*
mkfifo "$scratch/next"
begin sh -c "read line <'$scratch/next'
for n in 1 2; do '$bin/luajit' '$here/gate.lua' '$scratch' '$here/work.lua' spin \$n; rm -f '$scratch'/go '$scratch'/end; done; exit 0"
: >"$scratch/record.err"
"$bin/luatrace-record" -v --via $via -o "$scratch/each.%p.bin" -p $target --children 2>"$scratch/record.err" &
recorder=$!
started+=($recorder)
within 20 "the recorder to look at the shell" logged "process $target .* has no LuaJIT"
within 20 "the shell to begin" timeout 1 bash -c 'echo >"$1"' bash "$scratch/next"
for n in 1 2; do
  ready $n
  recording $n
  open_gate
  within 20 "process $n" test -e "$scratch/done$n"
  touch "$scratch/end"
  [ $n = 2 ] || within 30 "the first file to be complete" complete "$scratch"/each.*.bin
done
ended
finish 0
files=("$scratch"/each.*.bin)
same files ${#files[@]} 2
for file in "${files[@]}"; do
  complete "$file" || fail "$file is not complete"
  same "calls of fib in $file" "$(calls "$file" | awk '$3 == 7 { print $1 }')" 21891
done

# The requested process has no LuaJIT; its children have.
rm -f "$scratch"/{go,end} "$scratch"/ready* "$scratch"/done*
mkfifo "$scratch/start"
begin sh -c "read line <'$scratch/start'; '$bin/luajit' '$here/gate.lua' '$scratch' '$here/work.lua' & wait; exit 0"
record --via $via -p $target --children
within 20 "the recorder to look at the shell" logged "process $target .* has no LuaJIT"
within 20 "the shell to begin" timeout 1 bash -c 'echo >"$1"' bash "$scratch/start"
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
  if child == 0 then ffi.C.sleep(300) end
  io.open(arg[1] .. "/forked", "w"):close()
  for i = 1, 100000 do
    if io.open(arg[1] .. "/seen") then break end
    ffi.C.usleep(1000)
  end
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
  passes 10
  touch "$scratch/seen"
  ended
  finish 0
  ! logged 'not recorded' || fail "a Lua VM without a ring: $(grep 'not recorded' "$scratch/record.err")"
fi
