#!/bin/bash
# SPDX-License-Identifier: MIT
#
# luatrace top: tables of a running process, with and without a terminal; its ends and its errors.
source "$(dirname "$0")/lib.sh"
top=$bin/luatrace-top
gate "$bin/luajit" "$here/top.lua" "$scratch"
ready

# Without a terminal: two tables, and the process is left alone.
"$bin/luatrace" top -p $target -n 1s --count 2 --exclude nothing >"$scratch/tables" || fail "status $?"
same "tables" 2 "$(grep -cE '^ *calls +inclusive +self▼ +self % +suspended +function' "$scratch/tables")"
same "sums" 2 "$(grep -cE ' of 1 Lua VM: running [0-9.]+ %, idle [0-9.]+ %, unknown [0-9.]+ %; [0-9,]+ events?, [0-9,]+ lost \([0-9,]+ in all\)$' "$scratch/tables")"
for name in work handle; do
  same "rows of $name" 2 "$(grep -cE "^ *[1-9][0-9,]* .* $name  \(" "$scratch/tables")"
done
# The call that is open all the time: no call, but most of the time.
same "rows of serve" 2 "$(grep -cE '^ *0 +[0-9.]+ (us|ms|s) .* serve  \(' "$scratch/tables")"
detached $target "the end of luatrace top"

"$top" -p $target -n 300ms --count 2 --include nothing.lua >"$scratch/tables" || [ $? = 124 ] || fail "--include: status $?"
! grep -E ' (work|handle|serve)  \(' "$scratch/tables" || fail "--include without a match: $(cat "$scratch/tables")"
"$top" -p $target -n 200ms --count 1 --sort calls --limit 1 >"$scratch/tables"
grep -E 'calls▼' "$scratch/tables" >/dev/null || fail "not sorted by calls: $(cat "$scratch/tables")"
same "--limit 1" "work" "$(sed -nE '3s/.* ([a-z]+)  \(.*/\1/p' "$scratch/tables")"

# Requests: each call of handle is one; serve is one that is open.
"$top" -p $target -n 300ms --count 2 --request-by handle --limit 3 >"$scratch/tables" || fail "--requests: status $?"
same "sums of requests" 2 "$(grep -cE '^[1-9][0-9,]* requests? ended \([0-9.]+/s\); wall: p50 .*, p90 .*, p99 .*, max ' "$scratch/tables")"
same "ledgers" 2 "$(grep -cE '^in all: wall .* = running .* \+ waits .* \+ others .* \+ unattributed ' "$scratch/tables")"
rows=$(grep -cE '^ *[0-9,]+ .* handle ' "$scratch/tables") || true
[ "$rows" -ge 4 ] && [ "$rows" -le 6 ] || fail "$rows rows of requests: $(cat "$scratch/tables")"
"$top" -p $target -n 300ms --count 1 --request-by serve >"$scratch/tables"
grep -x 'no request ended' "$scratch/tables" >/dev/null || fail "a request that is open has ended: $(cat "$scratch/tables")"
grep -E '^1 open request, ' "$scratch/tables" >/dev/null || fail "no open request: $(cat "$scratch/tables")"

refuses '^luatrace-top: standard output: cannot write' sh -c '"$1" -p "$2" -n 200ms --count 1 >/dev/full' _ "$top" $target

# A process that sleeps: nothing comes, yet the tables and the end come in time.
"$bin/luajit" -e 'local ffi = require("ffi") ffi.cdef("int usleep(unsigned);") ffi.C.usleep(60000000)' &
sleeper=$!
started+=($sleeper)
runs $sleeper "$bin/luajit"
settles $sleeper
timeout 20 "$top" -p $sleeper -n 300ms --count 2 >"$scratch/tables" 2>/dev/null || [ $? = 124 ] || fail "a sleeping process: status $?"
same "tables of a sleeping process" "no event came,,no event came" "$(paste -sd, "$scratch/tables")"

# Errors: the recorder's, with its status, and wrong usage.
status() { "$top" "${@:2}" >"$scratch/out" 2>"$scratch/err" || [ $? = "$1" ] || fail "$*: status $?: $(cat "$scratch/err")"; }
refuses "no such process" "$top" -p 999999999
sleep 60 &
other=$!
refuses "no LuaJIT" "$top" -p $other
status 122 -p $other
refuses "^luatrace-top: missing process" "$top"
refuses "^luatrace-top: '4711': not an option" "$top" 4711
refuses "^luatrace-top: --interval: '0' is out of range" "$top" -p 1 -n 0
refuses "^luatrace-top: --interval: 'x' is not a time" "$top" -p 1 -n x
refuses "^luatrace-top: --count: '0' is out of range" "$top" -p 1 --count 0
refuses "^luatrace-top: --sort: invalid value 'self' with --requests; choose wall, " "$top" -p 1 --requests --sort self
refuses "^luatrace-top: --sort: invalid value 'wall' without --requests; choose self, " "$top" -p 1 --sort wall

# A signal ends it as q does.
"$top" -p $target -n 100ms >"$scratch/tables" 2>"$scratch/err" &
pid=$!
within 20 "a table" grep -q ' work  (' "$scratch/tables"
kill -TERM $pid
wait $pid || fail "status $? after SIGTERM: $(cat "$scratch/err")"
detached $target "SIGTERM"

# On a terminal: drawn again and again from its top, until q; then the last table is left.
# on_terminal PATTERN OPTION...: the last table has the pattern. The screen has 14 lines.
# Three times, and one of them was that table: on a busy machine the first ones may say that no event came.
drawn() {
  [ "$(grep -ao $'\e\[H' "$scratch/screen" 2>/dev/null | wc -l)" -ge 3 ] && sed $'s/\e\\[[?0-9]*[A-Za-z]//g' "$scratch/screen" | grep -aE "$1" >/dev/null
}
on_terminal() {
  : >"$scratch/screen"
  script -qfec "stty rows 14 cols 100; exec '$top' -p $target -n 200ms ${*:2}" "$scratch/screen" <"$scratch/keys" >/dev/null 2>&1 &
  local terminal=$!
  started+=($terminal)
  exec 9>"$scratch/keys"
  within 20 "three tables" drawn "$1"
  printf 'xq' >&9
  wait $terminal || fail "$*: status $? after q: $(cat "$scratch/screen")"
  exec 9>&-
  grep -a $'\e\[?1049h' "$scratch/screen" >/dev/null && grep -a $'\e\[?1049l' "$scratch/screen" >/dev/null || fail "$*: the screen is not restored"
  # A table: from the top of the screen to the end of what is drawn.
  sed -n $'/\e\[?1049h/,/\e\[?1049l/p' "$scratch/screen" | awk -v RS=$'\e\\[J' '{ print gsub(/\x1b\[K/, "") }' | sort -n | tail -n 1 >"$scratch/lines"
  [ "$(cat "$scratch/lines")" -gt 3 ] && [ "$(cat "$scratch/lines")" -le 14 ] || fail "$*: $(cat "$scratch/lines") lines on a screen of 14"
  sed $'s/.*\e\[?1049l//' "$scratch/screen" | grep -aE "$1" >/dev/null || fail "$*: no last table: $(cat "$scratch/screen")"
  detached $target "q"
}
if command -v script >/dev/null; then
  export TERM=xterm
  mkfifo "$scratch/keys"
  on_terminal ' work  \('
  on_terminal '^[1-9][0-9,]* requests? ended ' --request-by handle
  on_terminal '^1 open request, those that began first' --request-by serve
fi

# The process ends: the last table, and why there is no more.
: >"$scratch/tables"  # No table of before.
"$top" -p $target -n 100ms >"$scratch/tables" 2>"$scratch/err" &
pid=$!
within 20 "a table" grep -q ' work  (' "$scratch/tables"
touch "$scratch/end"
ended
wait $pid || fail "status $? after the end of the process: $(cat "$scratch/err")"
grep -x 'luatrace-top: the recording has ended' "$scratch/err" >/dev/null || fail "no word about the end: $(cat "$scratch/err")"
