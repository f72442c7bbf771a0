#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A worker of nginx in a container, under load, traced from the host by its pid.
#
#   attach.sh BUILD direct|bpf|bpftrace
source "$(dirname "$0")/engine.sh"
via=$2
need_containers
need_way "$via"
name=attach-$via
run_nginx "$name"
grep -q '^Seccomp:.2' "/proc/$(master "$name")/status" || fail "the container has no seccomp filter"
[ "$(readlink "/proc/$(master "$name")/ns/pid")" != "$(readlink /proc/self/ns/pid)" ] || fail "the container has no pid namespace of its own"

# bpftrace formats each event as text: it gets less to do.
pause=
[ "$via" != bpftrace ] || pause=100
begin_load "$name" $pause
pid=$(busy_worker "$name")
other=$(workers "$name" | grep -vx "$pid")
start_recording "$via" "$pid" "$scratch/trace.bin"
[ "$(switches "$other")" = "0 0" ] || fail "the other worker is traced, too: $(switches "$other")"
recorded "$via" "$scratch/trace.bin"
stop_recording
end_load
check_trace "$scratch/trace.bin"
[ "$via" = bpftrace ] || jq -e '.trust.lost == 0' "$scratch/trace.json" >/dev/null || echo "lost events, see above"
jq -r '.trace.files[].processes[] | "pid \(.pid), in the container \(.ns_pid): \(.exe)"' "$scratch/trace.json"

# Nothing stays: no switch, no file in the container.
wait_for "the switches to be off" all_off "$name"
changed=$(podman diff "$name" | grep -vE '^. /(etc|run|app)' || true)
[ -z "$changed" ] || fail "the container's files changed: $changed"
load "$name"

# The container's own number of the process, as its users know it.
if [ "$via" != bpftrace ]; then
  begin_load "$name"
  inside_pid=$(awk '$1 == "NSpid:" { print $NF }' "/proc/$pid/status")
  "$build/bin/luatrace-record" --via "$via" -q -d 3 -p "$inside_pid@$(master "$name")" -o "$scratch/inside.bin" || fail "-p $inside_pid@PID"
  end_load
  same "the traced process" "$("$build/bin/luatrace-analyze" --json "$scratch/inside.bin" 2>/dev/null |
    jq -r '.trace.files[].processes[] | "\(.pid) \(.ns_pid)"')" "$pid $inside_pid"
fi
echo "$pages pages by $via, $lost events lost; $requests requests afterwards"
