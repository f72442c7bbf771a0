#!/bin/bash
# SPDX-License-Identifier: MIT
#
# -p MASTER --children with daemons: children of a child that ends at once, so that no list of
# children contains them. Reported by the kernel, and in a process namespace of our own, where it
# reports nothing.
#
#   daemons.sh BUILD VIA HOW      HOW: reported, unreported (by the kernel)
source "$(dirname "$0")/lib.sh"
via=$2
need_way "$via"
if [ "$3" = unreported ] && [ -z "${INSIDE-}" ]; then
  unshare -p -f --mount-proc true 2>/dev/null || skip "not permitted to create a process namespace"
  rm -rf "$scratch"
  INSIDE=1 exec unshare -p -f --mount-proc --kill-child "$0" "$@"
fi

cat >"$scratch/master.lua" <<'END'
local scratch, file, first, last, stay = arg[1], arg[2], tonumber(arg[3]), tonumber(arg[4]), arg[5]
local ffi = require("ffi")
ffi.cdef("int fork(void); int wait(int *); int usleep(unsigned); int setsid(void); int getpid(void); void _exit(int);" ..
         "int execl(const char *, const char *, ...);")
local C = ffi.C
local work = dofile(file)
local function exists(what)
  local f = io.open(scratch .. "/" .. what)
  if f then f:close() end
  return f
end
local function await(what)
  for turn = 1, 100000 do
    if exists(what) then return end
    if not exists(".") then C._exit(1) end  -- the test has failed: nobody else ends a daemon
    C.usleep(2000)
  end
  io.stderr:write("waited too long for ", what, "\n")
  C._exit(1)
end
local function daemon(n)
  if C.fork() ~= 0 then return C.wait(nil) end
  C.setsid()
  if C.fork() ~= 0 then C._exit(0) end
  if arg[6] == "exec" then
    local c = function(s) return ffi.cast("const char *", s) end
    C.execl(c(arg[-1]), c(arg[-1]), c(arg[0]), c(scratch), c(file), c("1"), c("0"), c("go"), ffi.cast("char *", nil))
  end
  io.open(scratch .. "/ready" .. n, "w"):close()
  if stay ~= "hurry" then await("go") end
  work()
  io.open(scratch .. "/done" .. n, "w"):close()
  await("end")
  C._exit(0)
end
io.open(scratch .. "/ready", "w"):close()
await("more")
for n = first, last do daemon(n) end
if stay == "go" then
  local f = io.open(scratch .. "/started", "w")
  f:write(C.getpid())
  f:close()
  await("go")
  work()
  io.open(scratch .. "/done1", "w"):close()
end
if stay ~= "leave" then await("end") end
END
fresh() {
  rm -f "$scratch"/{go,end,more,started} "$scratch"/ready* "$scratch"/done*
  gate "$bin/luajit" "$scratch/master.lua" "$scratch" "$here/work.lua" "$@"
  ready
  record --via $via -p $target --children
  recording
}
daemons_work() {
  for n in $(seq "$1"); do within 20 "daemon $n" test -e "$scratch/done$n"; done
  touch "$scratch/end"
}
switched_on() {
  if [ "$via" = direct ]; then
    grep -q luatrace-ring "/proc/$1/maps"
  else
    "$here/words" "$1" | grep '^[1-9]' >/dev/null
  fi
}
# A process that is switched on may not have noticed it: this is whether an event came since it was
# last attached to, or executed its program.
has_begun() {
  awk -v process="process $1" 'index($0, process) && /is being recorded|has executed another/ { begun = 0 }
    index($0, process ": first event") { begun = 1 } END { exit !begun }' "$scratch/record.err"
}
check() {
  "$bin/luatrace-analyze" "$scratch/trace.bin" | tail -1 >"$scratch/trust"  # shown when it fails
  same "calls of fib ($1; $(cat "$scratch/trust"))" "$(calls "$scratch/trace.bin" | awk '$3 == 7 { n += $1 } END { print n + 0 }')" $(($2 * 21891))
  # Through BPF the beginning of a child may count as lost, see docs/bpf.md.
  [ "$via" = bpf ] || no_anomalies "$scratch/trace.bin"
}

# Ten daemons; with the direct method they do not wait and still lose nothing.
stay=stay
[ "$via" = bpf ] || stay=hurry
if [ "$via" = direct ] || [ "$3" = reported ]; then
  fresh 1 10 $stay
  touch "$scratch/more"
  recording 11
  open_gate
  daemons_work 10
  ended
  finish 0
  check "ten daemons" 10
  # The processes between the master and its daemons may have streams, too.
  [ "$(json "$scratch/trace.bin" | jq '.trace.files[0].streams | length')" -ge 11 ] || fail "some are missing"

  # The requested process ends at once: the recording continues with the daemons that it left.
  fresh 1 1 leave
  touch "$scratch/more"
  recording 2
  ended
  open_gate
  daemons_work 1
  finish 0
  check "the daemon of one that left" 1
fi

# A daemon that executes a program has nothing of the recording in it: only the kernel can report
# it, or we saw it before that; otherwise the recorder says so.
fresh 1 1 stay exec
rm "$scratch/ready"  # the master's; the daemon's program makes it again
touch "$scratch/more"
if [ "$3" = reported ]; then
  within 20 "the daemon's program" test -s "$scratch/started"
  daemon=$(cat "$scratch/started")
  within 20 "the daemon to be recorded" switched_on "$daemon"
  within 20 "the daemon's events" has_begun "$daemon"
  open_gate
  daemons_work 1
  ended
  finish 0
  check "a daemon that executes a program" 1

  # Children that end before they could be checked are mentioned.
  begin sh -c 'while [ -e "$0" ]; do sleep 0.05; echo; done' "$scratch"
  record --via $via -p $target --children
  within 20 "the recorder to look at the shell" logged "process $target .* has no LuaJIT"
  stop_recorder
  children=$(wc -l <"$scratch/target.out")
  children_ended() { [ "$(wc -l <"$scratch/target.out")" -ge $((children + 5)) ]; }
  within 30 "some children to end" children_ended
  kill -CONT $recorder
  passes 20
  kill -INT $recorder
  finish 122
  logged '[0-9,]+ descendants? had ended before (its program was|their programs were) known' ||
    fail "children that ended early are not mentioned: $(cat "$scratch/record.err")"
  kill $target
  ended 143
else
  within 20 "the daemon's program" test -e "$scratch/ready"
  within 20 "the daemon's program" test -s "$scratch/started"
  daemon=$(cat "$scratch/started")
  seen=no
  for i in $(seq 60); do
    has_begun "$daemon" && seen=yes && break
    sleep 0.05
  done
  kill -INT $recorder
  finish 0
  # It may just have been found, without any event yet.
  [ $seen = yes ] || logged "process $daemon .*is being recorded" || logged "[12] process(es)? of the same program started meanwhile without a known parent.*: [0-9, ]+; to record them, use -p" ||
    fail "no message that a daemon may be missing: $(cat "$scratch/record.err")"
  open_gate
  daemons_work 1
  ended
fi
