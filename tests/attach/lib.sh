# SPDX-License-Identifier: MIT
# Shared by the attach tests, on top of tests/lib.sh. The first argument of every script is the
# build folder.
#
#   begin WORDS...      starts a program in the background: $target
#   gate WORDS... -- PROGRAM   starts PROGRAM gate.lua, waits until it waits
#   record OPTIONS...   luatrace-record in the background: $recorder
#   recording           waits until it records (a stream is in the file, or -v logged it)
#   finish N            waits for the recorder, whose status must be N
#   calls FILE          "CALLS line" of work.lua's functions
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
build=$1
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bin=$build/bin
started=()
trap 'for p in "${started[@]}"; do kill -9 "$p" 2>/dev/null || true; done; rm -rf "$scratch"' EXIT

# within SECONDS WHAT CMD...: until CMD succeeds
within() {
  local tries=$(($1 * 50)) what=$2
  shift 2
  until "$@"; do
    tries=$((tries - 1))
    [ $tries -gt 0 ] || { cat "$scratch"/*.err >&2; fail "waited too long for $what"; }
    sleep 0.02
  done
}
begin() {
  "$@" >"$scratch/target.out" 2>"$scratch/target.err" &
  target=$!
  started+=($target)
}
# The program waits at its gate; ready counts the expected lines.
gate() {
  rm -f "$scratch"/{go,end} "$scratch"/ready* "$scratch"/done*
  begin "$@"
}
ready() { within 20 "the program" test -e "$scratch/ready${1-}"; }
# -v, so that the messages show the times.
record() {
  : >"$scratch/record.err"  # of an earlier recorder
  "$bin/luatrace-record" -v -o "$scratch/trace.bin" "$@" >"$scratch/record.out" 2>"$scratch/record.err" &
  recorder=$!
  started+=($recorder)
}
logged() { grep -qE "$1" "$scratch/record.err"; }
# Waits until N Lua VMs have sent their rings (1); with via=bpf: until N processes have sent an event (a
# process is attached to before that, and may then sleep without sending any).
via=direct
vms_taken() {
  local sign='has sent the ring of a Lua VM'
  [ "$via" = direct ] || sign='first event'
  [ "$(cat "$scratch/record.err" 2>/dev/null | grep -c "$sign")" -ge "$1" ]
}
recording() { within 20 "the recording" vms_taken "${1:-1}"; }
# A signal of ours may end it.
finish() {
  local status=0
  wait "$recorder" || status=$?
  [ "$status" = "$1" ] || { cat "$scratch/record.err" >&2; fail "luatrace-record ended with $status, not $1"; }
}
open_gate() { touch "$scratch/go"; }
ended() {
  local status=0
  wait "$target" || status=$?
  [ "$status" = "${1:-0}" ] || { cat "$scratch/target.err" >&2; fail "the program ended with $status"; }
}
json() { "$bin/luatrace-analyze" --json "$1"; }
# Each function of work.lua and how often it was called.
calls() {
  json "$1" | jq -r '.functions[] | select(.chunk | endswith("/work.lua")) | select(.calls > 0) | "\(.calls) line \(.line)"' | sort -k3n
}
no_anomalies() {
  local n
  n=$(json "$1" | jq '.trust.anomalies')
  [ "$n" = 0 ] || { "$bin/luatrace-analyze" "$1" | tail -3 >&2; fail "$1 has $n anomalies"; }
}
# The switch of the direct recorder must be 0 (the other word is that of uprobe tracers).
all_off() { "$here/words" "$1" | awk '$2 != 0 { bad = 1 } END { exit bad }'; }
no_ring() { ! grep -q luatrace-ring "/proc/$1/maps" 2>/dev/null; }
detached() {
  all_off "$1" || fail "$2: the control words are $("$here/words" "$1")"
  within 10 "the ring of $1 to be closed ($2)" no_ring "$1"
}
