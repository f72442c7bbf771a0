#!/bin/bash
# SPDX-License-Identifier: MIT
#
# -a beyond one process: programs in pid namespaces of their own, as in containers, from outside and
# by a recorder inside; and its end, by ^C in a terminal and by SIGTERM.
#
#   namespaces.sh RECORD LUAJIT ANALYZE
source "$(dirname "$0")/../lib.sh"
source "$(dirname "$0")/lib.sh"
record=$1 luajit=$2 analyze=$3
needs_sampling "$record"
unshare -pf --mount-proc true 2>/dev/null || skip "no pid namespaces here"

cat >"$scratch/work.lua" <<'END'
local function inside() local t = os.clock() while os.clock() - t < 0.02 do end return 1 end
local function nap() io.popen("sleep 0.02"):close() return 2 end
while true do inside() nap() end
END
# contained COMMAND...: in a pid namespace, whose first process it is
contained() { exec unshare -pf --kill-child --mount-proc "$@"; }
contained "$luajit" "$scratch/work.lua" &
unshared=$!
first_of() { pid=$(pgrep -P "$1" | head -n 1) && [ -n "$pid" ]; }
within 20 "a process in the namespace" first_of $unshared
runs "$pid" "$luajit"
works "$pid" 5
same "its number inside" "$(awk '$1 == "NSpid:" { print $NF }' "/proc/$pid/status")" 1

# has_functions FILE PID NS_PID NAME
has_functions() {
  "$analyze" --report --limit 0 --json "$1" >"$scratch/report.json"
  jq -e --arg pid "$2" --arg ns "$3" '.trace.files[0].processes | any((.pid | tostring) == $pid and (.ns_pid | tostring) == $ns)' "$scratch/report.json" >/dev/null ||
    fail "$1: no process $2 ($3): $(jq -c '[.trace.files[0].processes[] | [.pid, .ns_pid]]' "$scratch/report.json")"
  jq -e --arg name "$4" '.functions | any(.name == $name and .kind == "lua" and .samples > 3)' "$scratch/report.json" >/dev/null ||
    fail "$1: no samples of $4: $(jq -c '[.functions[] | select(.kind == "lua") | [.name, .samples]]' "$scratch/report.json")"
}
"$record" --sample 499 -q -a -d 1.5 -o "$scratch/all.bin"
has_functions "$scratch/all.bin" "$pid" 1 inside
"$record" --sample 499 -q -p 1@$pid -d 1 -o "$scratch/one.bin"
has_functions "$scratch/one.bin" "$pid" 1 inside
if "$record" --sample 99 --off-cpu -q -o "$scratch/probe.bin" -- true 2>/dev/null; then
  "$record" --sample 499 --off-cpu -q -a -d 1.5 -o "$scratch/waits.bin"
  has_functions "$scratch/waits.bin" "$pid" 1 nap
fi

# A recorder inside has the processes of its namespace, by their numbers there, and no others.
"$luajit" "$scratch/work.lua" &
outside=$!
cat >"$scratch/inside.sh" <<'END'
"$2" "$3" & echo $! >"$4"
sleep 0.5
"$1" --sample 499 -q -a -d 1.5 -o "$5"
END
(contained bash "$scratch/inside.sh" "$record" "$luajit" "$scratch/work.lua" "$scratch/pid" "$scratch/inside.bin") || fail "inside: $?"
has_functions "$scratch/inside.bin" "$(cat "$scratch/pid")" "$(cat "$scratch/pid")" inside
same "processes of other namespaces" "$(jq --argjson pid $outside '[.trace.files[0].processes[] | select(.pid == $pid or .pid > 1000)] | length' "$scratch/report.json")" 0

# ended_by HOW SIGNAL: while samples come; all processes of the recorder's group are gone, the file is complete.
has_samples() { [ "$(stat -c %s "$scratch/end.bin" 2>/dev/null || echo 0)" -gt 4096 ]; }
ended_by() {
  rm -f "$scratch/end.bin"
  setsid "$record" --sample 99 -q -a -o "$scratch/end.bin" 2>"$scratch/err" &
  local recorder=$! status=0
  within 20 "samples" has_samples
  if [ "$1" = group ]; then kill -s "$2" -- -$recorder; else kill -s "$2" $recorder; fi
  wait $recorder || status=$?
  same "status after $2 to the $1" $status 0
  no_group() { ! pgrep -g $recorder >/dev/null; }
  within 20 "the group to end" no_group
  same "end of the file ($2, $1)" "$("$analyze" --info --json "$scratch/end.bin" | jq .trust.cut)" 0
}
ended_by group INT
ended_by process TERM
ended_by process INT
