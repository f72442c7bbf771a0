#!/bin/bash
# SPDX-License-Identifier: MIT
# A recording ends while a Lua VM is making its ring. Nobody has seen that ring, and the program
# makes no event that could tell the VM: it must notice by itself.
#
#   late_ring.sh BUILD
source "$(dirname "$0")/../attach/lib.sh"
program=$here/../hostile/programs/kills_interpreter.lua
preload=$build/tests/hostile/late_ring.so
state() { "$build/tests/hostile/hostile_vm_state" $target; }
clean() { [ "$(state)" = "owner=0 ring=0 settings=0 states=1 on=0 patched=0" ]; }

begin env LD_PRELOAD="$preload" LATE_RING="$scratch" "$bin/luajit" "$program"
runs $target "$bin/luajit"
record --include '*' -p $target
within 20 "a request for a ring" test -e "$scratch/asked"
kill -INT $recorder
finish 124
open_gate
within 20 "the VM to be off ($(state))" clean
