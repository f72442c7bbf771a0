#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What happens to recordings of an nginx in a container when its workers reload (HUP) and when the
# container restarts, both under load.
#
#   lifecycle.sh BUILD direct|bpf|bpftrace
source "$(dirname "$0")/engine.sh"
via=$2
need_containers
need_way "$via"
name=lifecycle-$via
run_nginx "$name"
pause=
[ "$via" != bpftrace ] || pause=100

processes() { jq '[.trace.files[].processes[].pid] | unique | length' "$scratch/trace.json"; }
new_workers() { both_workers "$name" && [ "$(workers "$name" | xargs)" != "$old_workers" ] && ! workers "$name" | grep -xF "${old_workers// /$'\n'}" >/dev/null; }

# Each has a timer, and so events without any request.
new_workers_recorded() {
  local pid
  for pid in $(workers "$name"); do
    grep -qE "process $pid(: first event| has sent the ring)" "$scratch/recorder.log" || return 1
  done
}

echo "== reload"
old_workers=$(workers "$name" | xargs)
begin_load "$name" $pause
if [ "$via" = bpftrace ]; then # it takes one process; the worker that goes
  start_recording "$via" "$(busy_worker "$name")" "$scratch/reload.bin"
else # the master and the workers it has, and those it will have
  start_recording "$via" "$(master "$name")" "$scratch/reload.bin" --children
fi
recorded "$via" "$scratch/reload.bin"
kill -HUP "$(master "$name")"
wait_for "new workers" new_workers
if [ "$via" = bpftrace ]; then
  end_of_recording
else
  wait_for "events of the new workers" new_workers_recorded
  stop_recording
fi
end_load
check_trace "$scratch/reload.bin"
[ "$via" = bpftrace ] || [ "$(processes)" -ge 4 ] || fail "of two old and two new workers only $(processes) are in the trace"
wait_for "the switches to be off" all_off "$name"

echo "== restart"
begin_load "$name" $pause
start_recording "$via" "$(busy_worker "$name")" "$scratch/restart.bin"
recorded "$via" "$scratch/restart.bin"
end_load
podman restart -t 5 "$name" >/dev/null
end_of_recording
check_trace "$scratch/restart.bin"
wait_for "the workers of $name" both_workers "$name"
begin_load "$name" $pause
start_recording "$via" "$(busy_worker "$name")" "$scratch/again.bin"
recorded "$via" "$scratch/again.bin"
stop_recording
end_load
check_trace "$scratch/again.bin"
wait_for "the switches to be off" all_off "$name"
echo "reloaded and restarted, $via"
