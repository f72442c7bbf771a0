#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Traced from a second container that shares the first one's pid namespace and
# has our Debian packages and bpftrace: nothing of the host is used.
#
#   sidecar.sh BUILD direct|bpf|bpftrace
source "$(dirname "$0")/engine.sh"
via=$2
need_containers
need_way "$via"
name=sidecar-$via
run_nginx "$name"
mkdir -m 777 "$scratch/out"

# What each method needs; docs/containers.md says the same for Docker and Kubernetes.
case $via in
  direct) rights=(--cap-drop all --user 33) ;; # nothing but the same user
  *) rights=(--privileged) ;;
esac
case $via in
  bpftrace) tracer='BPFTRACE_PERF_RB_PAGES=4096 bpftrace -p $pid -o /out/trace.bin /usr/share/luatrace/probes/lua-calls.bt' ;;
  *) tracer="luatrace-record --via $via -p \$pid -o /out/trace.bin" ;;
esac
command="$tracer & tracer=\$!
  for try in \$(seq 600); do
    [ \"\$(stat -c %s /out/trace.bin 2>/dev/null || echo 0)\" -lt $(enough "$via") ] || break
    sleep 0.1
  done
  kill -INT \$tracer; wait \$tracer"
pause=
[ "$via" != bpftrace ] || pause=100
begin_load "$name" $pause
started+=("$name-tools")
# Process ids of the shared namespace: those that the target itself sees.
pid=$(awk '$1 == "NSpid:" { print $NF }' "/proc/$(busy_worker "$name")/status")
podman run --rm --name "$name-tools" --pull never --network none --pid "container:$name" "${rights[@]}" \
  -v "$scratch/out:/out" --entrypoint /bin/sh "$prefix/tools" -c "pid=$pid; $command" \
  >"$scratch/tools.log" 2>&1 || { cat "$scratch/tools.log" >&2; fail "the sidecar's status is not 0"; }
end_load
check_trace "$scratch/out/trace.bin"
wait_for "the switches to be off" all_off "$name"
echo "$pages pages by $via from a sidecar"
