#!/bin/bash
# SPDX-License-Identifier: MIT
#
# LUATRACE: a program is observed without a change to it; whatever is wrong with the variable, the
# program runs.
#   environment.sh record|trace|tag|stuck|wrong|full
source "$(dirname "$0")/../lib.sh"
program=$(dirname "$0")/environment.lua
err=$scratch/err
run() { # VALUE WORDS...: the program prints what it prints without the variable
  local value=$1
  shift
  same "what the program prints" "$(LUATRACE=$value luajit "$program" "$@" 2>"$err")" end
}
# Addresses and the folder of the program are left out.
lines() { sed 's/0x[0-9a-f]\{6,\}/ADDRESS/g; s|[^ <]*environment.lua|environment.lua|g' "$1"; }
case $1 in
  record)
    run "mode=record,out=$scratch/t.%p.bin,include=*environment.lua" calls
    [ "$(ls "$scratch"/t.*.bin | wc -l)" = 1 ] || fail "not one file: $(ls "$scratch"; cat "$err")"
    same "messages" "$(cat "$err")" ""
    # The file is complete when the program has ended, by os.exit() or without.
    luatrace-analyze --strict --json "$scratch"/t.*.bin 2>"$err" >"$scratch/json" || fail "$(cat "$err")"
    for n in 1 2 3 4 5 6; do
      run "mode=record,out=$scratch/again.bin" exits
      luatrace-analyze --strict -q "$scratch/again.bin" 2>"$err" >"$scratch/text" || fail "run $n: $(cat "$err")"
    done
    same "calls of method" "$(jq '.functions[] | select(.name == "method") | .calls' "$scratch/json")" 100
    same "chunks" "$(jq -r '[.functions[] | select(.kind == "lua") | .chunk | sub(".*/"; "")] | unique | join(" ")' "$scratch/json")" environment.lua
    ;;
  trace)
    run mode=trace,args calls
    same "lines" "$(wc -l <"$err")" 203
    same "the first" "$(lines "$err" | head -3)" '  environment.lua:0  main chunk("calls")
    environment.lua:5  method(table: ADDRESS, "a\n\x01")
      environment.lua:3  add(3, 2, "a\n\x01", table: ADDRESS, nil, true)'
    same "the coroutine's" "$(lines "$err" | tail -2)" 'environment.lua:11  ?(5)  coroutine ADDRESS
  environment.lua:3  add(5, 1)  coroutine ADDRESS'
    run "mode=trace,include=nothing*,out=$scratch/%p.txt" calls
    same "excluded" "$(cat "$err" "$scratch"/*.txt)" ""
    run "mode=trace,out=$scratch/file" calls
    same "without arguments" "$(lines "$scratch/file" | sed -n 2p)" '    environment.lua:5  method'
    same "mode of the file" "$(stat -c %a "$scratch/file")" 600
    # A recorder has its own patterns.
    LUATRACE="mode=trace,include=nothing*,out=$scratch/none" luatrace-record -q -o "$scratch/t.bin" -- luajit "$program" calls >"$scratch/out"
    same "calls that are recorded" "$(luatrace-analyze --json "$scratch/t.bin" | jq '.functions[] | select(.name == "method") | .calls')" 100
    LUATRACE="mode=trace,out=$scratch/all" luatrace-record -q -o "$scratch/t.bin" --include 'nothing*' -- luajit "$program" calls >"$scratch/out"
    same "lines beside a recorder" "$(wc -l <"$scratch/all")" 203
    # A forked child has its own.
    mkdir "$scratch/forks"
    LUATRACE=mode=trace,out=$scratch/forks/%p luajit -e 'local ffi = require "ffi" ffi.cdef "int fork(void); int wait(int *);"
      local function f() end
      if ffi.C.fork() == 0 then f() else ffi.C.wait(nil) end'
    same "files of a process and its child" "$(ls "$scratch/forks" | wc -l)" 2
    # A program that closes all descriptors, as a daemon does: the file is opened again, if its name is absolute.
    cat >"$scratch/daemon.lua" <<'END'
local ffi = require "ffi"
ffi.cdef "int close(int);"
local function work() end
work()
for fd = 3, 1023 do ffi.C.close(fd) end
for _ = 1, 100 do work() end
END
    LUATRACE=mode=trace,out=$scratch/closed luajit "$scratch/daemon.lua" 2>"$err"
    same "lines around close()" "$(grep -c ' work$' "$scratch/closed")" 101
    same "messages" "$(cat "$err")" ""
    (cd "$scratch" && LUATRACE=mode=trace,out=relative luajit daemon.lua 2>"$err")
    same "lines before close()" "$(grep -c ' work$' "$scratch/relative")" 1
    same "said of the others" "$(grep -c 'LUATRACE: out: Bad file descriptor; lines are missing' "$err")" 1
    # A closed standard error is not another file's.
    LUATRACE=mode=trace luajit "$program" own "$scratch/own" >"$scratch/out" 2>&-
    same "what a file has that got the number of standard error" "$(cat "$scratch/own")" "only this"
    ;;
  tag)
    run mode=tag sections
    same "lines" "$(sed 's/^ *//' "$err")" '> outer(1, "x\n")
> inner(1, 2)
< inner
< outer'
    ;;
  stuck)
    for how in jit interpreter; do
      LUATRACE=mode=stuck luajit "$program" hang $how "$scratch/$how" >"$scratch/out" 2>"$err" &
      target=$!
      started+=($target)
      within 20 "the program" test -e "$scratch/$how"
      for n in 1 2; do
        kill -USR2 $target
        printed() { [ "$(grep -c '^luatrace: end of the stacks' "$err")" = $n ]; }
        within 20 "the stacks ($how)" printed
      done
      kill -0 $target || fail "the program has ended"
      # The first may have come before the loop.
      same "stacks ($how)" "$(lines "$err" | sed '1,/end of/d' | sed -n '2,/end of/p' | sed 's/process [0-9]*//' | grep -v '\[C\]  ?$')" \
'  coroutine ADDRESS: running
    environment.lua:28  function <environment.lua:26>
  coroutine ADDRESS: not started
    environment.lua:3
  coroutine ADDRESS: suspended
    [C]  yield
    environment.lua:24  function <environment.lua:24>
  coroutine ADDRESS (main): normal
    environment.lua:30  main chunk
luatrace: end of the stacks'
      kill -9 $target
    done
    # A program that handles the signal itself keeps its handler; others get the message.
    run mode=stuck,signal=USR1 none
    LUATRACE=mode=stuck bash -c 'trap "" USR2; luajit "$1" none' _ "$program" >"$scratch/out" 2>"$err"
    grep -q 'LUATRACE: signal: the program handles or ignores it' "$err" || fail "no message: $(cat "$err")"
    ;;
  full)
    run mode=trace,out=/dev/full calls
    reported() { grep -q 'No space left on device' "$err"; }
    within 20 "the message" reported
    same "lines" "$(grep -c '^luatrace' "$err")" 1
    ;;
  wrong)
    for value in mode=x foo "mode=trace,out=$scratch/none/x" mode=stuck,signal=KILL signal=99 out=x unknown=1 \
        mode=trace,mode=tag args,mode=trace,args mode=trace,out=a,out=b mode=stuck,signal=USR1,signal=USR2 \
        mode=record,args mode=record,signal=10 mode=tag,include=x mode=stuck,args mode=trace,signal=10 mode=trace,args=1 \
        mode=record,out= "mode=record,out=$scratch/none/x" "$(printf 'mode=trace,%5000s' x)"; do
      run "$value" calls
      grep -q '^luatrace: LUATRACE: ' "$err" || fail "$value: no message: $(cat "$err")"
      same "lines of $value" "$(wc -l <"$err")" 1
    done
    # Nobody reads the pipe, nor ever will.
    mkfifo "$scratch/pipe"
    for value in mode=trace mode=tag mode=record; do
      run "$value,out=$scratch/pipe" calls
      grep -E 'No such device or address|it is not a regular file' "$err" >/dev/null || fail "$value: $(cat "$err")"
    done
    # The advice is not that of luatrace-record's command line.
    echo text >"$scratch/text"
    for out in - "$scratch/text" "$scratch/%n"; do
      run "mode=record,out=$out" calls
      ! grep -e ' -o\|--force\|--help\|--inside' "$err" || fail "out=$out: options in a message"
    done
    run "" calls
    same "an empty value" "$(cat "$err")" ""
    ;;
esac
