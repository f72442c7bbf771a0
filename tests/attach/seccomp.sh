#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Processes under seccomp filters. Attaching directly makes the process call what its filter may
# answer by killing it: that must never happen. (Reading filters needs root.)
source "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] || skip "only root can read seccomp filters"
filter=$build/tests/attach/attach_seccomp
[ "$(uname -m)" = x86_64 ] || skip "the numbers of system calls are those of x86-64"
memfd=319 madvise=28 swapon=167
"$filter" allow $swapon true || skip "this kernel has no seccomp filters"

# target ACTION NUMBER...: a program that is busy under these filters
target() {
  local words=()
  while [ $# -gt 0 ]; do words+=("$filter" "$1" "$2"); shift 2; done
  begin "${words[@]}" "$bin/luajit" -e 'while true do os.clock() end'
  within 10 "the program to run" test "$bin/luajit" -ef "/proc/$target/exe"
  works $target 10
}
is_dead() { ! grep '^State:' "/proc/$target/status" 2>/dev/null | grep -v Z >/dev/null; }
# try STATUS OPTIONS... [-- WRAPPER...]: the target is alive afterwards, whatever the message
try() {
  local status=$1 got=0 options=()
  shift
  while [ $# -gt 0 ] && [ "$1" != -- ]; do options+=("$1"); shift; done
  shift $(($# > 0 ? 1 : 0))
  rm -f "$scratch/trace.bin"
  : >"$scratch/record.err"
  "$@" "$bin/luatrace-record" -v -o "$scratch/trace.bin" -p "$target" -d 30 "${options[@]}" 2>"$scratch/record.err" &
  recorder=$!
  started+=($recorder)
  case $status in
    0) within 20 "the recording" logged 'first event' && kill -INT $recorder ;;
    124) within 20 "the process to be asked" logged 'is being recorded' && works $target 20 && passes 10 && kill -INT $recorder ;;
  esac
  wait $recorder || got=$?
  [ $got = "$status" ] || { cat "$scratch/record.err" >&2; fail "${options[*]} ended with $got, not $status"; }
  # If it is to make a call that its filter forbids, it makes it now, and has no more time then.
  has_worked_or_died() { is_dead || has_worked $target $1; }
  is_dead || within 60 "process $target to get a processor" has_worked_or_died $(($(ticks $target) + 5))
  ! is_dead || fail "the process was killed by being attached to (${options[*]})"
  [ "$status" != 121 ] || [ ! -e "$scratch/trace.bin" ] || fail "a trace is left behind"
  [ "$status" != 0 ] || [ "$(json "$scratch/trace.bin" | jq .trace.events)" -gt 0 ] || fail "nothing was recorded"
}
says() { grep -qE -- "$1" "$scratch/record.err" || fail "no message '$1': $(cat "$scratch/record.err")"; }
done_with() { kill $target; ended 143; }
bpf=yes
has_bpf || bpf=no

for action in kill trap; do
  target $action $memfd
  try 121 --via direct
  says 'may not make a ring: its seccomp filter would kill it for memfd_create\(\); --via bpf'
  if [ $bpf = yes ]; then
    try 0 --via auto
    says 'through the kernel.s probes .--via bpf., because recording directly is not possible: .*would kill it for memfd_create'
  fi
  done_with
done
target errno $memfd
try 121 --via direct
says 'its seccomp filter does not allow it memfd_create\(\)'
[ $bpf = no ] || try 0 --via auto
try 124 --via direct --seccomp ignore  # as its message warns
says 'or a seccomp filter does not allow it memfd_create'
done_with

# Unneeded calls may be refused, but not by killing; each of several filters counts.
target errno $madvise
try 0 --via direct
done_with
target allow $swapon kill $madvise strange $swapon
try 121 --via direct
says 'would kill it for madvise\(\)'
done_with
target allow $swapon strange $swapon
try 0 --via direct

# A recorder that may not read filters attaches to no process with filters, unless an option allows
# it, or the recorder has as many itself: then they are assumed to be the same (a container's).
poor=(setpriv --bounding-set -sys_admin)
try 121 --via direct -- "${poor[@]}"
says 'it is not known whether that lets the process make a ring, or kills it for that: reading it takes the capability CAP_SYS_ADMIN.*--seccomp ignore'
try 0 --via direct --seccomp ignore -- "${poor[@]}"
try 0 --via direct -- "$filter" allow $swapon "$filter" allow $swapon
try 121 --via direct -- "$filter" allow $swapon
says 'being under a filter ourselves'
try 121 --via direct -- "$filter" allow $swapon "$filter" errno $memfd
done_with

# Thread contexts take other calls: the process is asked only if its filters allow them.
contexts() { # contexts STATUS OPTIONS...
  local got=0
  "$bin/luatrace-record" --thread-context on -p "$target" "${@:2}" 2>"$scratch/record.err" || got=$?
  [ $got = "$1" ] || { cat "$scratch/record.err" >&2; fail "--thread-context ended with $got, not $1"; }
  works $target 10
  ! is_dead || fail "the process was killed by --thread-context"
}
has_context() { grep OTEL_CTX "/proc/$target/maps" >/dev/null; }
prctl=157
for forbidden in $prctl $madvise $memfd; do
  target kill "$forbidden"
  contexts 121
  says 'may not publish contexts: its seccomp filter would kill it for (prctl|madvise|memfd_create)\(\); --seccomp ignore'
  ! has_context || fail "a context was published although the filter forbids it"
  done_with
done
target errno $prctl
contexts 0
has_context || fail "the mapping has a name without prctl(), too"
done_with
target errno $memfd
contexts 121
contexts 0 --seccomp ignore # by prctl() instead, where the kernel can name mappings
has_context || says 'no process context was published'
done_with

# A process that sleeps in a call is not disturbed: the kernel begins the call again.
cat >"$scratch/sleep.lua" <<'END'
local ffi = require("ffi") ffi.cdef("struct file { int fd; short events, revents; }; int poll(struct file *, unsigned long, int);" ..
         "int open(const char *, int);")
local file = ffi.new("struct file", ffi.C.open(arg[2], 2), 1, 0) -- O_RDWR, POLLIN
local count = ffi.C.poll(file, 1, 600000)
local f = io.open(arg[1], "w")
f:write(count)
f:close()
END
mkfifo "$scratch/wake"
begin "$filter" allow $swapon "$bin/luajit" "$scratch/sleep.lua" "$scratch/count" "$scratch/wake"
settles $target
record --via direct -p $target
within 20 "the recorder" logged 'is being recorded'
passes 10
stop_recorder  # one that saw the process running would make it report
echo >"$scratch/wake"
ended
kill -CONT $recorder
finish 124 # nothing ran that could have made events
same "what poll() returned" "$(cat "$scratch/count")" 1
