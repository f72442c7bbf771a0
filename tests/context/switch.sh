#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Contexts are published only while somebody has asked: before that and afterwards there is no
# mapping, and no thread has a context. A program is asked while it runs, and again.
#
#   switch.sh BUILD_OF_FLAVOUR COMPILER RECORDER
here=$(cd "$(dirname "$0")" && pwd)
source "$here/../lib.sh"
source "$here/lib.sh"
build "$1" "$2"
recorder=$3
switch() { "$recorder" --thread-context "$1" -p "$pid" 2>"$scratch/log" || { cat "$scratch/log"; fail "--thread-context $1"; }; }

# Coroutines that run when it is asked are never blamed for what runs after them.
start "$1/luajit" "$here/coroutines.lua" 300
looks none
for i in 1 2; do
  switch on
  [[ $(cat "$scratch/log") == *"thread contexts are on"* ]] || fail "no such message: $(cat "$scratch/log")"
  reads 1000
  switch on
  switch off
  looks none
done
kill "$pid"

start "$scratch/host" "$here/host.lua" 300 3
looks none
switch on
reads 1000
switch off
looks none
kill "$pid"

# The labels of a main chunk that has been running for long are seen at once.
cat >"$scratch/main.lua" <<'END'
local truth = require "truth"
truth.label("id", "100")
truth.label("kind", "coroutine 100")
truth.set(100)
truth.started()
local stop, n = os.time() + 300, 0
while os.time() < stop do for i = 1, 1e6 do n = n + i % 3 end end
END
start "$1/luajit" "$scratch/main.lua"
switch on
reads 100
kill "$pid"

# A coroutine that already ran when the switch was set is not shown: nothing would take it back.
cat >"$scratch/late.lua" <<'END'
local ffi, truth = require "ffi", require "truth"
ffi.cdef "extern uint8_t luajit_usdt_control[8];"
local n = 0
local function work() for i = 1, 1e7 do n = n + i % 3 end end
local co = coroutine.create(function()
  truth.label("id", "101")
  ffi.C.luajit_usdt_control[7] = 1
  work()
  coroutine.yield()
end)
coroutine.resume(co)
truth.set(2)
truth.started()
local stop = os.time() + 300
while os.time() < stop do work() end
END
start "$1/luajit" "$scratch/late.lua"
reads 100
kill "$pid"

# Another publisher has the one process context that there may be: nothing of ours beside it.
cat >"$scratch/other.c" <<'END'
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>
__attribute__((constructor)) static void publish(void) {
  int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC);
  if (ftruncate(fd, 4096) || mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0) == MAP_FAILED) _exit(1);
}
END
"$2" -fPIC -shared "$scratch/other.c" -o "$scratch/other.so"
LD_PRELOAD=$scratch/other.so start "$1/luajit" "$here/coroutines.lua" 300
status=0
"$recorder" --thread-context on -p "$pid" 2>"$scratch/log" || status=$?
same "status" "$status" 123
[[ $(cat "$scratch/log") == *"has a process context already"* ]] || fail "no such message: $(cat "$scratch/log")"
looks null
kill "$pid"
LUATRACE=mode=context LD_PRELOAD=$scratch/other.so start "$1/luajit" "$here/coroutines.lua" 300
for i in 1 2 3 4 5; do looks null; done
kill "$pid"

status=0
"$recorder" --thread-context on -p $$ 2>"$scratch/log" || status=$?
same "status of a process without LuaJIT" "$status" 122
refuses "needs -p" "$recorder" --thread-context on -- true
refuses "excludes --output" "$recorder" --thread-context on -o x -p $$
refuses "on or off|on, off" "$recorder" --thread-context maybe -p $$
refuses "mode=context has no such key" env LUATRACE=mode=context,out=x bash -c "$1/luajit -e '' ; ! true"
