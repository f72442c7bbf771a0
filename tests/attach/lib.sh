# SPDX-License-Identifier: MIT
# Shared by the attach tests, on top of tests/lib.sh. The first argument of every script is the
# build folder.
#
#   begin WORDS...      starts a program in the background: $target
#   gate WORDS...       starts a program (gate.lua, with its words) that waits for open_gate
#   ready [N]           waits until it waits there (attach_host: its Nth Lua VM)
#   record OPTIONS...   luatrace-record in the background: $recorder
#   recording           waits until it records (a stream is in the file, or -v logged it)
#   finish N            waits for the recorder, whose status must be N
#   calls FILE          "CALLS line" of work.lua's functions
#   settles PID         waits until it sleeps, and goes on sleeping
#   passes N            waits until the recorder has looked at its processes N times more
#   stop_recorder       stops it; returns when each of its threads has stopped
#   has_bpf             luatrace-record can be used through the kernel: by root, if it was built so
#   need_way VIA        skips the test if VIA is bpf and cannot be used
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
build=$1
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bin=$build/bin
begin() {
  "$@" >"$scratch/target.out" 2>"$scratch/target.err" &
  target=$!
  started+=($target)
}
gate() {
  rm -f "$scratch"/{go,end} "$scratch"/ready* "$scratch"/done*
  begin "$@"
}
ready() { within 20 "the program" test -e "$scratch/ready${1-}"; }
# -v, so that the messages show the times.
record() {
  : >"$scratch/record.err"  # nothing of an earlier recorder must be found in it
  "$bin/luatrace-record" -v -o "$scratch/trace.bin" "$@" >"$scratch/record.out" 2>"$scratch/record.err" &
  recorder=$!
  started+=($recorder)
}
logged() { grep -qE "$1" "$scratch/record.err"; }
# Waits until N Lua VMs have sent their rings (1); with via=bpf: until N processes have sent an event (a
# process is attached to before that, and may then sleep without sending any).
via=direct
vms_recorded() {
  local message='has sent the ring of a Lua VM'
  [ "$via" = direct ] || message='first event'
  [ "$(cat "$scratch/record.err" 2>/dev/null | grep -c "$message")" -ge "$1" ]
}
recording() { within 20 "the recording" vms_recorded "${1:-1}"; }
sleeps_still() {
  local state="s/^State:\t\|^voluntary_ctxt_switches:\t//p" before
  before=$(sed -n "$state" "/proc/$1/status")
  sleep 0.1
  [[ $before == S* && "$(sed -n "$state" "/proc/$1/status")" = "$before" ]]
}
settles() { within 30 "process $1 to sleep" sleeps_still "$1"; }
passes() { sleeps "$recorder" "$1"; }  # It sleeps after each pass.
has_stopped() { ! awk '{ sub(/.*\) /, ""); print $1 }' "/proc/$recorder/task"/*/stat | grep -v T >/dev/null; }
stop_recorder() {
  kill -STOP "$recorder"
  within 20 "the recorder to stop" has_stopped
}
finish() {
  local status=0
  wait "$recorder" || status=$?
  [ "$status" = "$1" ] || { cat "$scratch/record.err" >&2; fail "luatrace-record ended with $status, not $1"; }
}
has_bpf() {
  [ "$(id -u)" = 0 ] || return 1
  "$bin/luatrace-record" --via bpf -o "$scratch/none.bin" -p $$ 2>"$scratch/bpf" || true  # a shell: it fails
  ! grep -q 'was built without it' "$scratch/bpf"
}
need_way() { [ "$1" != bpf ] || has_bpf || skip "--via bpf needs root, and to be built"; }
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
# The switch of the direct recorder must be 0 (the other word counts the tracers of the probes).
all_off() { "$here/words" "$1" | awk '$2 != 0 { bad = 1 } END { exit bad }'; }
# That switch and the semaphores of the probes must be 0.
untraced() { "$here/words" "$1" | awk '$1 != 0 || $2 != 0 { bad = 1 } END { exit bad }'; }
no_ring() { ! grep -q luatrace-ring "/proc/$1/maps" 2>/dev/null; }
detached() {
  all_off "$1" || fail "$2: the control words are $("$here/words" "$1")"
  within 10 "the ring of $1 to be closed ($2)" no_ring "$1"
}
