# SPDX-License-Identifier: MIT
# Shared by the bpftrace tests. Source it with the build's bin folder as $1.
#
#   trace SCRIPT ARGS...     runs a script of probes/ until it ends by itself; its
#                            output is in $scratch/bt.out and bt.err
#   attach PID SCRIPT ARGS   the same for a running process, in the background, by the command
#                            in slowed=() if that is set;
#   watch SCRIPT PATH ARGS   the same for all processes that will use PATH
#   attached PID SCRIPT      waits until all of the probes of a script are attached to a process
#   caught_up                waits until bpftrace has read what there was until now
#   leave                    ends it as ^C does, and waits
#   calls_of FILE            what happened, for comparing two traces
#
# Sets $luajit, $record, $analyze, $probes. bpftrace 0.17 prints on stderr that it
# could not set a limit or open uprobe_events (where tracefs is not mounted); that
# does not matter.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

bin=$(cd "$1" && pwd)
luajit=$bin/luajit record=$bin/luatrace-record analyze=$bin/luatrace-analyze
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
probes=$here/../../probes
export LC_ALL=C
slowed=()
end_started() { kill $(jobs -p) 2>/dev/null || true; }  # timeout passes it on to bpftrace

[ "$(id -u)" = 0 ] || skip "bpftrace needs root"
command -v bpftrace >/dev/null || skip "no bpftrace here (Debian: bpftrace)"
timeout 20 bpftrace -e 'BEGIN { printf("works\n"); exit(); }' >"$scratch/works" 2>"$scratch/why" || true
grep -q works "$scratch/works" ||
  skip "bpftrace cannot load programs here: $(tail -n 1 "$scratch/why")"

# Buffers that hold all that a program does, for when bpftrace has to wait for a processor.
trace() {
  BPFTRACE_PERF_RB_PAGES=${BPFTRACE_PERF_RB_PAGES:-4096} timeout -s INT 500 bpftrace "$@" >"$scratch/bt.out" 2>"$scratch/bt.err" || bt_failed "$@"
  ! grep -qE 'Error (loading|attaching)|Could not' "$scratch/bt.err" || bt_failed "$@"
}

attach() {
  local pid=$1
  shift
  : >"$scratch/bt.out"
  # bpftrace reads nothing while it attaches its probes one after the other: its default buffers are
  # full before it begins where the program is busy (docs/bpftrace.md).
  BPFTRACE_PERF_RB_PAGES=${BPFTRACE_PERF_RB_PAGES:-4096} \
    timeout -s INT 500 "${slowed[@]}" bpftrace -p "$pid" "$@" >"$scratch/bt.out" 2>"$scratch/bt.err" &
  tracer=$!
  # Nothing shows when bpftrace has attached its last probe; so wait for its first output.
  within 120 "bpftrace to begin" begun
}
begun() {
  kill -0 $tracer 2>/dev/null || bt_failed
  [ -s "${bt_file:-$scratch/bt.out}" ]
}
# Each adds one to the semaphore.
all_attached() { [ "$("$here/../attach/words" "$1" | awk '{ print $1 }')" -ge "$2" ]; }
attached() { within 120 "the probes of $2" all_attached "$1" "$(grep -c '^usdt:' "$probes/$2")"; }

# Ready when there is a perf event for each probe, and for each CPU's buffer.
watch() {
  local want
  want=$(($(grep -c '^usdt:' "$probes/lua-calls.bt") + 1 + $(getconf _NPROCESSORS_ONLN)))
  BPFTRACE_PERF_RB_PAGES=${BPFTRACE_PERF_RB_PAGES:-4096} timeout -s INT 500 bpftrace "$@" >"$scratch/bt.out" 2>"$scratch/bt.err" &
  tracer=$!
  within 120 "bpftrace to begin" watching $want
}
watching() {
  local child
  kill -0 $tracer 2>/dev/null || bt_failed
  child=$(pgrep -P $tracer -x bpftrace) &&
    [ "$(find /proc/$child/fd -lname '*perf_event*' 2>/dev/null | wc -l)" -ge "$1" ]
}

# It sleeps when all buffers are empty, up to 0.1 s; what it has read may still be in its memory.
caught_up() {
  local child
  child=$(pgrep -P $tracer -x bpftrace)
  sleeps "$child" 5
}

leave() {
  local child
  child=$(pgrep -P $tracer) || true
  child=$(pgrep -P "${child:-$tracer}" -x bpftrace || echo $child) # below strace
  kill -INT ${child:-$tracer}
  wait $tracer || true
}

bt_failed() { fail "bpftrace $*: $(cat "$scratch/bt.out" "$scratch/bt.err")"; }

# Without what depends on the moment (garbage collection) or on the recorder.
calls_of() {
  "$analyze" --dump=calls "$1" | grep -vE ' (start|collect|abandon|thread) '
}
