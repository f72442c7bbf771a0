# SPDX-License-Identifier: MIT
# What the container tests share. Source it instead of ../lib.sh, with the build
# folder as first argument of the test.
#
#   need_containers             skips the test where there are none (setup.sh says why)
#   run_nginx NAME OPTION...    starts one: own namespaces, other user, read-only root
#   master NAME / workers NAME  process ids as the host sees them
#   load NAME SECONDS [PATH]    wrk inside NAME's network; sets $requests, fails on wrong answers
#   switches PID                "semaphore ring" of the library in PID
#   wait_for WHAT COMMAND...    until it succeeds, 20 s at most
#
# Invariants: everything podman keeps (images, containers, locks, its own
# configuration) is below BUILD/containers; containers have no network but their
# own loopback; each test removes the containers it started, whatever happens.
build=$1
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
checkout=$(cd "$here/../.." && pwd)
state=$build/containers
prefix=localhost/luatrace-test
started=()

export CONTAINERS_STORAGE_CONF=$state/storage.conf CONTAINERS_CONF=$state/containers.conf

leave() {
  local status=$? name
  for name in ${started+"${started[@]}"}; do
    podman rm -f -t 1 "$name" >/dev/null 2>&1 || true
  done
  rm -rf "$scratch"
  exit $status
}
trap leave EXIT

need_containers() {
  [ ! -s "$state/unavailable" ] || skip "$(cat "$state/unavailable")"
  [ -e "$state/ready" ] || fail "the images are not there: ctest -R containers.setup"
}

wait_for() {
  local what=$1 deadline=$((SECONDS + 20))
  shift
  until "$@"; do
    [ $SECONDS -lt $deadline ] || fail "waited 20 s for $what"
    sleep 0.1
  done
}

# The name is also the name of the folder with nginx.conf that is mounted.
run_nginx() {
  local name=$1
  shift
  mkdir -p "$scratch/$name"
  cp "$checkout"/tests/nginx/app/*.lua "$scratch/$name/"
  "$checkout/tests/nginx/configure" --workers 2 >"$scratch/$name/nginx.conf"
  chmod -R a+rX "$scratch"
  started+=("$name")
  podman run -d --name "$name" --pull never --network none --read-only -v "$scratch/$name:/app:ro" \
    "$@" "$prefix/traced" -c /app/nginx.conf >/dev/null
  wait_for "the workers of $name" both_workers "$name"
}

master() { podman inspect -f '{{.State.Pid}}' "$1"; }
# Workers that are not on their way out.
workers() { pgrep -P "$(master "$1")" -f '^nginx: worker process$'; }
both_workers() { [ "$(workers "$1" | wc -l)" = 2 ] && inside "$1" wrk -t1 -c1 -d1 "http://127.0.0.1:8080/stats" >/dev/null; }

# A command of the host in the network of a container.
inside() {
  local name=$1
  shift
  nsenter -t "$(master "$name")" -n -- "$@"
}

load() {
  local line
  inside "$1" timeout $(($2 + 30)) wrk -t1 -c8 -d"$2" -s "$checkout/tests/nginx/check.lua" http://127.0.0.1:8080/ -- "${3:-/page}" \
    >"$scratch/wrk" 2>&1 || { cat "$scratch/wrk" >&2; fail "wrk"; }
  line=$(tail -n 1 "$scratch/wrk")
  [[ $line =~ ^requests=([0-9]+)\ failed=0\ errors=([0-9]+) ]] || { cat "$scratch/wrk" >&2; fail "requests failed"; }
  requests=${BASH_REMATCH[1]} errors=${BASH_REMATCH[2]}
  [ "$requests" -gt 0 ] || fail "not one request was answered"
}

switches() { "$checkout/tests/nginx/switches" "$1"; }
all_off() {
  local pid
  for pid in $(workers "$1"); do
    [ "$(switches "$pid")" = "0 0" ] || return 1
  done
}
