#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What is in a record: labels as they are, ids if both are valid, and nothing that a reader could
# not decode.
#
#   record.sh BUILD_OF_FLAVOUR COMPILER
here=$(cd "$(dirname "$0")" && pwd)
source "$here/../lib.sh"
source "$here/lib.sh"
build "$1" "$2"
export LUATRACE=mode=context

# shows LUA_CODE: the record of a program that runs that code.
shows() {
  { echo 'local truth = require "truth"; local label = truth.label'
    echo "$1"
    echo 'truth.started(); local stop, n = os.time() + 300, 0'
    echo 'while os.time() < stop do for i = 1, 1e6 do n = n + i % 3 end end'; } >"$scratch/one.lua"
  start "$luajit" "$scratch/one.lua"
  timeout 60 "$scratch/reader" "$pid" show >"$scratch/read"
  kill "$pid"
}
has() { grep -xF -e "$1" "$scratch/read" >/dev/null || { cat "$scratch/read"; fail "missing: $1"; }; }
lacks() { ! grep -F -e "$1" "$scratch/read" >/dev/null || { cat "$scratch/read"; fail "unexpected: $1"; }; }
luajit=$1/luajit
none="valid 1 flags 00 trace 00000000000000000000000000000000 span 0000000000000000"

shows 'label("user", "ann"); label("path", "/ä")'
has "$none bytes 38"
has "user=ann"
has "path=/ä"

shows ''
has "no context"

# Ids: of the W3C's form, or they are labels like others.
shows 'label("trace_id", "0af7651916cd43dd8448eb211c80319c"); label("span_id", "b7ad6b7169203331"); label("trace_flags", "01"); label("a", "b")'
has "valid 1 flags 01 trace 0af7651916cd43dd8448eb211c80319c span b7ad6b7169203331 bytes 31"
has "a=b"
lacks "trace_id="
shows 'label("trace_id", "0af7651916cd43dd8448eb211c80319c"); label("a", "b")'
has "trace_id=0af7651916cd43dd8448eb211c80319c"
has "$none bytes 65"
shows 'label("trace_id", ("0"):rep(32)); label("span_id", "b7ad6b7169203331"); label("trace_flags", "01")'
has "$none bytes $((28 + 34 + 18 + 4))"

# Everything that a coroutine can have: 8 labels of 70 bytes.
shows 'for i = 1, 8 do label("key" .. i, ("v"):rep(69) .. i) end'
has "$none bytes $((28 + 8 * 72))"
has "key8=$(printf 'v%.0s' {1..69})8"

# What is not UTF-8 would make a reader refuse all of it.
shows 'label("bad\255", "x"); label("y", "\192\175"); label("z", "\237\160\128"); label("good", "\240\159\146\154")'
has "good=💚"
has "$none bytes 34"

# The first 256 keys of a process; keys stay where they are.
shows 'for i = 1, 300 do label("k" .. i, "x"); label("k" .. i) end; label("k1", "one"); label("k256", "last"); label("k257", "none")'
has "k1=one"
has "k256=last"
lacks "none"
