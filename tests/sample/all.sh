#!/bin/bash
# SPDX-License-Identifier: MIT
#
# -a: programs with and without Lua, from before and from later; neither kernel threads nor the
# recorder itself. Without --sample only those with a LuaJIT.
#
#   all.sh RECORD LUAJIT ANALYZE
source "$(dirname "$0")/../lib.sh"
source "$(dirname "$0")/lib.sh"
record=$1 luajit=$2 analyze=$3
needs_sampling "$record"
refuses "-a attaches to every process" "$record" -a -p $$ -o "$scratch/no.bin"
refuses "-a attaches to every process" "$record" -a -o "$scratch/no.bin" -- true

busy() { # NAME: a file and a function
  echo "local function $1() local t = os.clock() while os.clock() - t < 60 do end end $1()" >"$scratch/$1.lua"
  exec "$luajit" "$scratch/$1.lua"
}
busy before &
lua=$!
sh -c 'while :; do :; done' &
shell=$!
runs $lua "$luajit"
works $shell 5

"$record" --sample 499 -q -a -o "$scratch/samples.bin" -d 3 2>"$scratch/err" &
recorder=$!
works $recorder 1
busy later &
later=$!
wait $recorder || fail "status $?: $(cat "$scratch/err")"
"$analyze" --info --json "$scratch/samples.bin" >"$scratch/info.json"
pids=$(jq -r '.trace.files[0].processes[].pid' "$scratch/info.json")
for pid in $lua $shell $later; do
  grep -qx "$pid" <<<"$pids" || fail "process $pid is missing: $(tr '\n' ' ' <<<"$pids")"
done
! grep -qx "$recorder" <<<"$pids" || fail "the recorder samples itself"
for pid in $pids; do
  case $(readlink "/proc/$pid/exe" 2>&1 || echo gone) in "") fail "process $pid is a kernel thread" ;; esac
done
"$analyze" --report --limit 0 --json "$scratch/samples.bin" >"$scratch/report.json"
for name in before later; do
  jq -e --arg name $name '.functions | any(.name == $name and .samples > 20)' "$scratch/report.json" >/dev/null ||
    fail "no samples of $name: $(jq -c '[.functions[] | select(.kind == "lua") | [.name, .samples]]' "$scratch/report.json")"
done
"$analyze" -q --report --limit 0 --group-by process --json "$scratch/samples.bin" >"$scratch/processes.json"
jq -e --arg name "process $lua (luajit)" '.report | any(.name == $name and .samples > 20)' "$scratch/processes.json" >/dev/null ||
  fail "no group of process $lua: $(jq -c '[.report[] | [.name, .samples]]' "$scratch/processes.json")"

"$record" -q -a -o "$scratch/events.bin" -d 5 2>"$scratch/err" || fail "status $?: $(cat "$scratch/err")"
pids=$("$analyze" --info --json "$scratch/events.bin" | jq -r '.trace.files[0].processes[].pid')
grep -qx "$lua" <<<"$pids" || fail "events of process $lua are missing"
! grep -qx "$shell" <<<"$pids" || fail "a process without LuaJIT is recorded"
