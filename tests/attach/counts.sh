#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Attaching records the same as starting the program: every function, every call.
#
#   counts.sh BUILD HOW [VIA]
#
# HOW: jit, eager, interpreter, stripped, static, library, renamed, deleted, states, threads, user,
# two (LuaJITs in a process); or the path of another luajit.
source "$(dirname "$0")/lib.sh"
how=$2
via=${3-direct}
need_way "$via"
script=("$here/gate.lua" "$scratch" "$here/work.lua" spin)
host() { begin_host "$@" -- "${script[@]}"; }
begin_host() { gate "$build/tests/attach/attach_host" "$@"; }
lib=$build/lib/libluajit-5.1.so.2
states=1 as=()

case $how in
  /*) gate "$how" "${script[@]}" ;;
  jit) gate "$bin/luajit" "${script[@]}" ;;
  eager) gate "$bin/luajit" -Ohotloop=1 -Ohotexit=1 "${script[@]}" ;;
  interpreter) gate "$bin/luajit" -joff "${script[@]}" ;;
  stripped)
    strip -o "$scratch/program" "$bin/luajit"
    gate "$scratch/program" "${script[@]}"
    ;;
  static) gate "$build/tests/attach/attach_static" -- "${script[@]}" ;;
  library)
    strip -o "$scratch/libluajit-5.1.so.2" "$lib"
    host "$scratch/libluajit-5.1.so.2"
    ;;
  renamed)
    strip -o "$scratch/no such name.bin" "$lib"
    host "$scratch/no such name.bin"
    ;;
  deleted)
    cp "$lib" "$scratch/gone.so"
    host "$scratch/gone.so"
    ready 1
    rm "$scratch/gone.so"
    ;;
  states)  # one after the other: the second one is made during the recording
    host -s 2 "$lib"
    states=2
    ;;
  threads)
    host -t -s 2 "$lib"
    states=2
    ;;
  two)
    cp "$lib" "$scratch/one.so"
    cp "$lib" "$scratch/two.so"
    host -t "$scratch/one.so" "$scratch/two.so"
    states=2
    ;;
  user)
    [ "$(id -u)" = 0 ] || skip "only root can become another user"
    chmod 777 "$scratch"
    as=(setpriv --reuid 65534 --regid 65534 --clear-groups)
    gate "${as[@]}" "$bin/luajit" "${script[@]}"
    ;;
  *) fail "unknown HOW '$how'" ;;
esac
case $how in
  jit | eager | interpreter | stripped | user | /*) ready ;;
  threads | two) ready 1 && ready 2 ;;
  *) ready 1 ;;
esac

: >"$scratch/record.err"
if [ $how = user ]; then
  "${as[@]}" "$bin/luatrace-record" -v -o "$scratch/trace.bin" -p $target 2>"$scratch/record.err" &
  recorder=$!
  started+=($recorder)
else
  record --via "$via" -p $target
fi
case $how in
  states) recording 1 ;;
  *) recording $states ;;
esac
open_gate
if [ $how = states ]; then
  within 20 "the first Lua VM" test -e "$scratch/done1"
  touch "$scratch/end"
  within 20 "the second Lua VM" test -e "$scratch/done2"
fi
touch "$scratch/end"
ended
finish 0
no_anomalies "$scratch/trace.bin"
same "numbers of streams" "$(json "$scratch/trace.bin" | jq '.trace.files[0].streams | length')" $states
calls "$scratch/trace.bin" >"$scratch/attached"

touch "$scratch/go" "$scratch/end"
"$bin/luatrace-record" -q -o "$scratch/started.bin" -- "$bin/luajit" "${script[@]}"
calls "$scratch/started.bin" | awk -v n=$states '{ $1 *= n; print }' >"$scratch/started"
[ "$(wc -l <"$scratch/started")" -ge 9 ] || fail "too few functions: $(cat "$scratch/started")"
grep -qx "$((21891 * states)) line 7" "$scratch/started" || fail "fib(20) is 21,891 calls"
# The file's main chunk ran before the gate.
diff <(grep -v 'line 0$' "$scratch/started") <(grep -v 'line 0$' "$scratch/attached") ||
  fail "attaching recorded other calls than starting the program"
