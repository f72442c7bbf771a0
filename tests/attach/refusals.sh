#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Processes that cannot be recorded: each case has its message and its exit status, and leaves no
# file.
source "$(dirname "$0")/lib.sh"

# refused STATUS PATTERN OPTIONS...
refused() {
  local status=$1 pattern=$2 got=0
  shift 2
  rm -f "$scratch/trace.bin"
  timeout 60 "$bin/luatrace-record" -o "$scratch/trace.bin" "$@" 2>"$scratch/record.err" || got=$?
  [ $got = "$status" ] || { cat "$scratch/record.err" >&2; fail "$* ended with $got, not $status"; }
  grep -qE -- "$pattern" "$scratch/record.err" || { cat "$scratch/record.err" >&2; fail "$* does not say '$pattern'"; }
  [ ! -e "$scratch/trace.bin" ] || fail "$* left a trace file"
}

refused 125 'a command and -p exclude each other' -p 1 -- true
refused 125 '--children needs -p' --children -- true
refused 125 "invalid value 'stap'; choose auto, direct or bpf" -p 1 --via stap
refused 125 '--bpf-link needs --via bpf' -p 1 --via direct --bpf-link multi
refused 125 '--bpf-link needs --via bpf' --bpf-link each -- true
refused 125 '--seccomp needs --via direct' -p 1 --via bpf --seccomp ignore
for bad in nonsense 0 1x -1 7@ @7 7@0 99999999999; do refused 125 "'$bad' is not a process id" -p "$bad"; done
refused 120 'no such process' -p 399999999
refused 120 'process namespace of 399999999 cannot be seen' -p 7@399999999

# Without any LuaJIT.
begin sleep 60
refused 122 "process $target \(sleep\) has no LuaJIT in it: its program is /.*sleep" -p $target
kill $target
ended 143

# A program of 32 bits.
if [ "$(uname -m)" = x86_64 ] && printf '_start: mov $29, %%eax\nint $0x80\njmp _start\n' | as --32 -o "$scratch/pause.o" - &&
  ld -m elf_i386 -e 0x08049000 -Ttext 0x08049000 -o "$scratch/pause" "$scratch/pause.o"; then
  begin "$scratch/pause"
  runs $target "$scratch/pause"
  refused 122 "process $target \(pause\) runs a 32-bit program" -p $target
  refused 122 "process $target \(pause\) runs a 32-bit program" -p $target --via direct
  kill $target
  ended 143
fi

# A LuaJIT for another processor: it cannot be executed, and is no script for the shell; an emulator maps it, but not as code.
other=arm64 machine='\xb7\x00'
[ "$(uname -m)" != aarch64 ] || other=x86-64 machine='\x3e\x00'
cp "$bin/luajit" "$scratch/foreign"
printf %b "$machine" | dd of="$scratch/foreign" bs=1 seek=18 conv=notrunc 2>/dev/null
refused 126 "foreign: cannot execute: Exec format error \(it is for $other\)" -- "$scratch/foreign"
PATH=$scratch:$PATH refused 126 "foreign: cannot execute: Exec format error \(it is for $other\)" -- foreign
begin python3 -c 'import mmap, sys, time
with open(sys.argv[1], "rb") as f: m = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)
print("mapped", flush=True)
time.sleep(60)' "$scratch/foreign"
within 10 "the emulator" grep -q mapped "$scratch/target.out"
refused 122 "has a LuaJIT for $other in it, .*/foreign; this recorder is for .* only directly and from its start \(--via direct -- COMMAND\)" -p $target
kill $target
ended 143

# A LuaJIT without tracepoints: which, where.
if [ -e "$build/luajit/$2-upstream/libluajit-5.1.so.2" ]; then
  plain=$build/luajit/$2-upstream
  begin "$plain/luajit" -e 'while true do os.clock() end'
  within 10 "the program" grep -q R "/proc/$target/stat"
  refused 122 "has no LuaJIT with tracepoints; it has:" -p $target
  logged "luajit: LuaJIT 2.1.*, part of the program itself, without tracepoints" || fail "does not name it: $(cat "$scratch/record.err")"
  kill $target
  ended 143
  cp "$plain/libluajit-5.1.so.2" "$scratch/other.so"
  rm -f "$scratch"/{go,ready1}
  gate "$build/tests/attach/attach_host" "$scratch/other.so" -- "$here/gate.lua" "$scratch" "$here/work.lua" spin
  ready 1
  refused 122 "other.so: LuaJIT 2.1.*, a library, without tracepoints" -p $target
  # A process with both: the LuaJIT with tracepoints is recorded.
  kill $target
  ended 143
  rm -f "$scratch"/ready*
  gate "$build/tests/attach/attach_host" -t "$scratch/other.so" "$build/lib/libluajit-5.1.so.2" -- "$here/gate.lua" "$scratch" "$here/work.lua" spin
  ready 1
  ready 2
  record -p $target
  recording
  open_gate
  touch "$scratch/end"
  ended
  finish 0
  same "recorded Lua VMs" "$(json "$scratch/trace.bin" | jq '.trace.files[0].streams | length')" 1
fi

# Another user's process, a process that is not dumpable, a setuid one.
begin "$bin/luajit" -e 'while true do os.clock() end'
other=$target
if [ "$(id -u)" = 0 ]; then
  chmod 777 "$scratch"
  rm -f "$scratch/trace.bin" # root's, from above
  user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
  status=0
  timeout 60 "${user[@]}" "$bin/luatrace-record" -o "$scratch/trace.bin" -p $other 2>"$scratch/record.err" || status=$?
  same "exit statuses" $status 121
  logged 'belongs to user 0, we are user 65534.*CAP_SYS_PTRACE' || fail "does not name the user: $(cat "$scratch/record.err")"

  begin "${user[@]}" "$bin/luajit" -e 'require("ffi").cdef("int prctl(int, ...);") require("ffi").C.prctl(4, 0, 0, 0, 0) while true do os.clock() end'
  not_dumpable() { [ "$(stat -c %u "/proc/$target/stat")" = 0 ]; }
  within 10 "the process to be no longer dumpable" not_dumpable
  status=0
  timeout 60 "${user[@]}" "$bin/luatrace-record" -o "$scratch/trace.bin" -p $target 2>"$scratch/record.err" || status=$?
  same "exit statuses" $status 121
  logged 'not dumpable' || fail "does not say 'not dumpable': $(cat "$scratch/record.err")"
  kill $target
  ended 143

  cp "$bin/luajit" "$scratch/suid"
  chown 65533 "$scratch/suid"
  chmod 4755 "$scratch/suid"
  begin "${user[@]}" "$scratch/suid" -e 'while true do os.clock() end'
  within 10 "the program" test "$scratch/suid" -ef "/proc/$target/exe"
  if [ "$(awk '/^Uid/ { print $3 }' "/proc/$target/status")" = 65533 ]; then
    refused 121 'is not traced, not even for root: .*(setuid|ids differ)' -p $target
  else
    echo "here setuid programs have no effect (nosuid)"
  fi
  kill $target
  ended 143
fi

# Of several requested processes, those that can be recorded are; the status is that of the other.
record -p $other -p 399999999
recording
kill -INT $recorder
finish 120
[ "$(json "$scratch/trace.bin" | jq '.trace.events')" -gt 0 ] || fail "the good one was not recorded"
# A wrong process id does not cost an older trace.
cp "$scratch/trace.bin" "$scratch/old.bin"
status=0
"$bin/luatrace-record" -o "$scratch/trace.bin" -p 399999999 2>/dev/null || status=$?
same "exit statuses" $status 120
cmp "$scratch/trace.bin" "$scratch/old.bin"

# A process that has no file descriptor left for its ring.
begin sh -c "ulimit -n 64; exec '$bin/luajit' -e 'local t = {} repeat t[#t + 1] = io.open(\"/dev/null\") until not io.open(\"/dev/null\") io.stderr:write(\"full\") while true do os.clock() end'"
within 10 "the descriptors to be used up" grep -q full "$scratch/target.err"
record -p $target
within 20 "the recorder" logged "process $target .* is being recorded"
works $target 20  # it answers
passes 10
kill -INT $recorder
finish 124
logged 'no file descriptor left for a ring' || fail "does not say why there is no ring: $(cat "$scratch/record.err")"
detached $target "without descriptors"
kill $target
ended 143

# A process of a container, by its number there.
if [ "$(id -u)" = 0 ] && unshare -p -f --mount-proc true 2>/dev/null; then
  unshare -p -f --mount-proc sh -c "'$bin/luajit' -e 'while true do os.clock() end' & wait" &
  shell=$!
  started+=($shell)
  inner() { first=$(cat "/proc/$shell/task/$shell/children") && host=$(cat /proc/${first% }/task/${first% }/children) && host=${host% } && [ "$(readlink "/proc/$host/exe")" = "$(readlink -f "$bin/luajit")" ]; }
  within 10 "the process in a namespace" inner
  started+=($host)
  number=$(awk '/^NSpid/ { print $NF }' "/proc/$host/status")
  record -p "$number@$host"
  recording
  kill -INT $recorder
  finish 0
  logged "process $host \(luajit\) is being recorded" || fail "another process was recorded: $(cat "$scratch/record.err")"
  same "numbers in the container" "$(json "$scratch/trace.bin" | jq -c '.trace.files[0].processes[0] | [.pid, .ns_pid]')" "[$host,$number]"
  refused 120 "no process 999 in the process namespace of $host" -p "999@$host"
  kill -9 $host
fi
