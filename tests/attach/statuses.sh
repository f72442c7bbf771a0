#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The table of statuses in docs/recording.md, the same for both methods of attaching: one line for
# each invalid request. (refusals.sh checks the direct method's messages in detail.)
source "$(dirname "$0")/lib.sh"
ways="direct"
! has_bpf || ways="direct bpf auto"

# expect STATUS PATTERN OPTIONS...: for each way; no file is left
expect() {
  local status=$1 pattern=$2 way got
  shift 2
  for way in $ways; do
    got=0
    timeout 60 ${wrapper-} "$bin/luatrace-record" -o "$scratch/trace.bin" --via $way -d 1 "$@" 2>"$scratch/record.err" || got=$?
    [ $got = "$status" ] || { cat "$scratch/record.err" >&2; fail "--via $way $*: status $got, not $status"; }
    logged "$pattern" || fail "--via $way $*: no message '$pattern', but: $(cat "$scratch/record.err")"
    [ ! -e "$scratch/trace.bin" ] || fail "--via $way $* left a trace file"
    ! grep -q 'the command' "$scratch/record.err" || fail "--via $way $*: there is no command"
  done
}

expect 125 'is not a process id' -p 0
expect 125 'is not a process id' -p 1x
expect 120 'no such process' -p 399999999
# A kernel thread.
if [ -r /proc/2/stat ] && [ "$(awk '{ print int($9 / 2097152) % 2 }' /proc/2/stat)" = 1 ]; then
  expect 122 'process 2 .*is a kernel thread' -p 2
fi
begin sleep 300
sleeper=$target
expect 122 'has no LuaJIT in it' -p $sleeper

# --children, and no process has one: the message lists those that were checked.
begin sh -c 'sleep 300 & wait'
shell=$target
both() { [ -n "$(cat "/proc/$shell/task/$shell/children")" ]; }
within 10 "the shell's child" both
child=$(cat "/proc/$shell/task/$shell/children")
started+=(${child% })
expect 122 'none of 2 processes has a LuaJIT with tracepoints' -p $shell --children
logged "process $shell .*has no LuaJIT in it" && logged "process ${child% } .sleep. has no LuaJIT in it" ||
  fail "the processes are not named: $(cat "$scratch/record.err")"
# An older file is left as it was.
echo old >"$scratch/old.bin"
status=0
"$bin/luatrace-record" --force -o "$scratch/old.bin" -p $shell --children -d 0.2 2>/dev/null || status=$?
same status $status 122
same "the older file" "$(cat "$scratch/old.bin")" old
# While it waits, the recorder says so.
"$bin/luatrace-record" -o "$scratch/trace.bin" -p $shell --children -d 2.5 2>"$scratch/record.err" || true
logged 'no LuaJIT with tracepoints so far in 2 processes; waiting' || fail "no message that it waits: $(cat "$scratch/record.err")"

# Without the right, also as root.
if [ "$(id -u)" = 0 ] && setpriv --bounding-set -sys_ptrace true 2>/dev/null; then
  begin setpriv --reuid 65534 --regid 65534 --clear-groups "$bin/luajit" -e 'while true do os.clock() end'
  within 10 "the program" test "$bin/luajit" -ef "/proc/$target/exe"
  wrapper="setpriv --bounding-set -sys_ptrace" expect 121 'root may only with the capability CAP_SYS_PTRACE, which is missing here' -p $target
  ! logged 'do it as root' || fail "root is advised to be root"
  kill $target
  ended 143
fi
kill $sleeper $shell
