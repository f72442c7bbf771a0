# SPDX-License-Identifier: MIT
# Shared by the bpftrace tests. Source it with the build's bin folder as $1.
#
#   trace SCRIPT ARGS...     runs a script of probes/ until it ends by itself; its
#                            words are in $scratch/bt.out and bt.err
#   attach PID SCRIPT ARGS   the same for a running process, in the background;
#   watch SCRIPT PATH ARGS   the same for all processes that will use PATH
#   leave                    ends it as ^C does, and waits
#   calls_of FILE            what happened, for comparing two traces
#
# $luajit, $record, $analyze, $probes. bpftrace 0.17 says on stderr that it could
# not set a limit or open uprobe_events (where tracefs is not mounted); that is
# noise.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

bin=$(cd "$1" && pwd)
luajit=$bin/luajit record=$bin/luatrace-record analyze=$bin/luatrace-analyze
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
probes=$here/../../probes
export LC_ALL=C

[ "$(id -u)" = 0 ] || skip "bpftrace needs root"
command -v bpftrace >/dev/null || skip "no bpftrace here (Debian: bpftrace)"
timeout 20 bpftrace -e 'BEGIN { printf("works\n"); exit(); }' >"$scratch/works" 2>"$scratch/why" || true
grep -q works "$scratch/works" ||
  skip "bpftrace cannot load programs here: $(tail -n 1 "$scratch/why")"

# Buffers that hold all that a program does, for when bpftrace has to wait for a processor.
trace() {
  BPFTRACE_PERF_RB_PAGES=${BPFTRACE_PERF_RB_PAGES:-4096} timeout -s INT 60 bpftrace "$@" >"$scratch/bt.out" 2>"$scratch/bt.err" || bt_failed "$@"
  ! grep -qE 'Error (loading|attaching)|Could not' "$scratch/bt.err" || bt_failed "$@"
}

attach() {
  local pid=$1 try
  shift
  : >"$scratch/bt.out"
  # bpftrace reads nothing while it attaches its probes one after the other: its default buffers are
  # full before it begins where the program is busy (docs/bpftrace.md).
  BPFTRACE_PERF_RB_PAGES=${BPFTRACE_PERF_RB_PAGES:-4096} \
    timeout -s INT 60 bpftrace -p "$pid" "$@" >"$scratch/bt.out" 2>"$scratch/bt.err" &
  tracer=$!
  # The first probe's semaphore, and some time to reach the last one: until its words stop coming
  # nothing can be said; so wait for its first output.
  for try in $(seq 200); do
    [ -s "${bt_file:-$scratch/bt.out}" ] && return
    kill -0 $tracer 2>/dev/null || bt_failed "$@"
    sleep 0.1
  done
  fail "bpftrace does not begin: $(cat "$scratch/bt.err")"
}

# Ready when there is a perf event for each probe, and for each CPU's buffer.
watch() {
  local try child want
  want=$(($(grep -c '^usdt:' "$probes/lua-calls.bt") + 1 + $(getconf _NPROCESSORS_ONLN)))
  BPFTRACE_PERF_RB_PAGES=${BPFTRACE_PERF_RB_PAGES:-4096} timeout -s INT 60 bpftrace "$@" >"$scratch/bt.out" 2>"$scratch/bt.err" &
  tracer=$!
  for try in $(seq 300); do
    child=$(pgrep -P $tracer -x bpftrace) || true
    [ -n "$child" ] && [ "$(find /proc/$child/fd -lname '*perf_event*' 2>/dev/null | wc -l)" -ge $want ] && return
    kill -0 $tracer 2>/dev/null || bt_failed "$@"
    sleep 0.1
  done
  fail "bpftrace does not begin: $(cat "$scratch/bt.err")"
}

leave() {
  local child
  child=$(pgrep -P $tracer -x bpftrace) || true
  kill -INT ${child:-$tracer}
  wait $tracer || true
}

bt_failed() { fail "bpftrace $*: $(cat "$scratch/bt.out" "$scratch/bt.err")"; }

# Without what depends on the moment (garbage collection) or on the recorder.
calls_of() {
  "$analyze" --dump=calls "$1" | grep -vE ' (start|collect|abandon|thread) '
}
