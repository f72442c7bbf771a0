#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A thread's context is that of the coroutine that it runs, at 1,000 random moments and more of
# programs that say which that is: none wrong.
#
#   samples.sh BUILD_OF_FLAVOUR COMPILER PLACE [RECORDER]
#
#   jit, nojit   coroutines of every kind, in luajit itself, which is stripped
#   library      a host with threads and several Lua VMs, linked with the stripped library
#   dlopened     the same in a library that is opened later, without space in the static TLS
#   forked       in a forked child
#   recorded     while events are recorded, too
here=$(cd "$(dirname "$0")" && pwd)
source "$here/../lib.sh"
source "$here/lib.sh"
build "$1" "$2"
export LUATRACE=mode=context
case $3 in
  jit | nojit)
    cp "$1/luajit" "$scratch/luajit"
    strip "$scratch/luajit"
    [ "$3" = jit ] && mode=on || mode=off
    start "$scratch/luajit" -j$mode "$here/coroutines.lua" 300
    reads 1000
    [[ $(cat "$scratch/read") == *"luajit: static"* ]] || fail "the variable is not that of the program"
    ;;
  library)
    start "$scratch/host" "$here/host.lua" 300 3
    reads 1500
    ;;
  dlopened)
    GLIBC_TUNABLES=glibc.rtld.optional_static_tls=0 start "$scratch/loader" "$scratch/host.so" "$here/host.lua" 300 3
    reads 1500
    [[ $(cat "$scratch/read") == *": dynamic"* ]] || fail "the variable is in the static TLS: nothing was tested"
    ;;
  forked)
    start "$scratch/host" "$here/host.lua" 300 2 fork >"$scratch/child"
    parent=$pid
    within 60 "the id of the child" test -s "$scratch/child"
    pid=$(cat "$scratch/child")
    started+=("$pid")
    reads 1000
    pid=$parent looks null
    ;;
  recorded)
    start "$4" --max-size 200M -o "$scratch/trace.bin" -- "$1/luajit" "$here/coroutines.lua" 300
    pid=$(od -An -td4 -j8 -N4 "$TRUTH" | tr -d ' ')
    reads 1000
    kill "$pid"
    ;;
  *) fail "no such place: $3" ;;
esac
