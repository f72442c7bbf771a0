#!/bin/bash
# SPDX-License-Identifier: MIT
# Unmodified standard tools on our probes: bpftrace -l, perf, bcc's ucalls and uflow (written for
# Python's probes), readelf; each against known numbers, on a stripped luajit.
. "$(dirname "$0")/lib.sh"

cp "$luajit" "$scratch/luajit"
strip "$scratch/luajit"
cat >"$scratch/program.lua" <<'LUA'
local function leaf(x) return x + 1 end
local function hundred() local s = 0 for i = 1, 100 do s = leaf(s) end return s end
for i = 1, 10 do hundred() end
LUA
cd "$scratch"

bpftrace -l "usdt:$scratch/luajit:*" >list 2>/dev/null
same "probes in bpftrace -l" "$(sed 's/.*://' list | sort | tr '\n' ' ')" "block block__switch \
cfunction__entry cfunction__return coroutine__create coroutine__end coroutine__label coroutine__resume coroutine__stack \
coroutine__yield function__entry function__return function__tailcall function__unwind \
gc__done gc__start mark__begin mark__end segments segments__auto segments__switch state__close state__open trace__abort trace__exit trace__flush trace__start trace__stop "

# -- perf: in a mount namespace of its own, since it mounts tracefs; with a cache of its own --
if command -v perf >/dev/null; then
  cat >perf.sh <<'PERF'
set -e
mount -t tracefs none /sys/kernel/tracing
perf buildid-cache --add ./luajit
perf list sdt 2>/dev/null | grep -o 'sdt_luajit:[a-z_]*' | sort >perf.list
perf probe -q -x ./luajit sdt_luajit:function__entry >probe.out 2>&1
perf record -q -o perf.data -e sdt_luajit:function__entry ./luajit program.lua >record.out 2>&1 || true
perf probe -q -d 'sdt_luajit:*'
perf script -i perf.data -F event,trace >perf.script 2>script.out
PERF
  if HOME=$scratch unshare -m --propagation private bash perf.sh 2>perf.err; then
    same "events in perf list" "$(wc -l <perf.list)" 28
    same "calls that perf saw" "$(grep -c function__entry perf.script)" 1011
    same "entries of line 1" "$(grep -c ' arg3=1 ' perf.script)" 1000
    echo "perf: list, probe, record, script"
  else
    grep -q 'permission denied\|Operation not permitted' perf.err || fail "perf: $(cat perf.err probe.out)"
    echo "perf: not allowed here: $(tail -n 1 perf.err)"
  fi
else
  echo "perf: not installed"
fi

# -- bcc: compiles at run time and needs kernel headers, of any version --
common=$(ls -d /usr/src/linux-headers-*-common 2>/dev/null | tail -n 1)
if [ ! -x /usr/sbin/ucalls ]; then
  echo "bcc: not installed"
  exit 0
fi
if [ ! -d "/lib/modules/$(uname -r)/build" ] && [ ! -e /sys/kernel/kheaders.tar.xz ]; then
  [ -n "$common" ] || { echo "bcc: no kernel headers"; exit 0; }
  mkdir headers
  cp -rs "$common"/{include,arch} headers/
  cp -rs "${common%-common}-amd64"/{include,arch} headers/ 2>/dev/null || true
  export BCC_KERNEL_SOURCE=$scratch/headers
fi
cat >server.lua <<'LUA'
local stop = arg[1]
local function leaf(x) return x + 1 end
local function hundred() local s = 0 for i = 1, 100 do s = leaf(s) end return s end
repeat hundred() io.popen("sleep 0.05"):close() local f = io.open(stop) until f
LUA
./luajit server.lua stop &
server=$!
export PYTHONUNBUFFERED=1

# Runs a tool until its output holds a pattern. They do not end by themselves.
until_seen() {
  local pattern=$1 try
  shift
  "$@" >tool.out 2>tool.err &
  local tool=$!
  for try in $(seq 600); do
    grep -qE "$pattern" tool.out && break
    kill -0 $tool 2>/dev/null || break
    sleep 0.1
  done
  kill -INT $tool 2>/dev/null || true
  for try in $(seq 20); do
    kill -0 $tool 2>/dev/null || break
    sleep 0.1
  done
  kill -KILL $tool 2>/dev/null || true
  wait $tool 2>/dev/null || true
  grep -qE "$pattern" tool.out || fail "$*: $(head -n 5 tool.out) $(tail -n 5 tool.err)"
}
first() { awk -v name="$1" '$1 == name { print $2; exit }' tool.out; }

until_seen '^@server.lua.leaf' ucalls -l python -L $server 2
leaf=$(first @server.lua.leaf) hundred=$(first @server.lua.hundred)
[ "$leaf" -ge $((100 * (hundred - 1))) ] && [ "$leaf" -le $((100 * (hundred + 1))) ] ||
  fail "ucalls: $leaf calls of leaf, $hundred of hundred"
until_seen '<- @server.lua.leaf' uflow -l python $server
grep -q -- '-> @server.lua.leaf' tool.out || fail "uflow: $(head -5 tool.out)"
echo "bcc: ucalls -l python, uflow -l python"
touch stop
wait $server
