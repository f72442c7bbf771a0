# SPDX-License-Identifier: MIT
# Shared by the container tests. Source it instead of ../lib.sh, with the build folder as first
# argument of the test.
#
#   need_containers             skips the test where there are none (setup.sh says why)
#   run_nginx NAME OPTION...    starts one: own namespaces, other user, read-only root, no
#                               capabilities; from the image $image (default: traced)
#   begin_load NAME [PAUSE] / end_load    wrk inside NAME's network, full speed or PAUSE ms between
#                               requests, up to 90 s; sets $requests and $errors, fails on wrong answers
#   load NAME                   the same until a worker has had some requests
#   master NAME / workers NAME / busy_worker NAME    process ids as the host sees them
#   start_recording VIA PID FILE OPTION... / recorded VIA FILE / stop_recording
#   unmount_below FOLDER        everything that is mounted there
#   check_trace FILE            it has what shop.lua must have done
#   switches PID                "semaphore ring" of the library in PID
#   wait_for WHAT COMMAND...    until it succeeds, up to 60 s
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
  kill $(jobs -p) 2>/dev/null || true # wrk, the recorder
  for name in ${started+"${started[@]}"}; do
    podman rm -f -t 1 "$name" >/dev/null 2>&1 || true
  done
  rm -rf "$scratch"
  exit $status
}
trap leave EXIT

unmount_below() {
  local mount
  # The last one first: others may be mounted on those before it.
  awk -v folder="$1/" 'index($2, folder) == 1 { print $2 }' /proc/self/mounts | tac | while read -r mount; do
    umount "$(printf %b "$mount")" || true
  done
}

need_containers() {
  [ ! -s "$state/unavailable" ] || skip "$(cat "$state/unavailable")"
  [ -e "$state/ready" ] || fail "the images are not there: ctest -R containers.setup"
}

wait_for() {
  local what=$1 deadline=$((SECONDS + 60))
  shift
  until "$@"; do
    [ $SECONDS -lt $deadline ] || fail "waited 60 s for $what"
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
  podman run -d --name "$name" --pull never --network none --read-only --cap-drop all \
    --security-opt no-new-privileges -v "$scratch/$name:/app:ro" "$@" "$prefix/${image:-traced}" -c /app/nginx.conf >/dev/null
  wait_for "the workers of $name" both_workers "$name"
}

master() { podman inspect -f '{{.State.Pid}}' "$1"; }
# The worker with the most of wrk's connections: the kernel may give one of them all. The other one is busy, too: pages ask
# it for their items.
busy_worker() {
  wait_for "a worker of $1 to have wrk's connections" has_connections "$1"
  cat "$scratch/busy"
}
has_connections() {
  local wrk pid
  wrk=$(pgrep -P "$loading" -x wrk) || return 1
  sockets "$wrk" >"$scratch/sockets"
  # Those at the other end: the port of the one is the other's peer.
  awk 'NR == FNR { ours[$1]; next } FNR == 1 { file++ } { split($2, at, ":"); split($3, to, ":") }
       file == 1 && $10 in ours { ports[at[2]] } file == 2 && to[2] in ports { print $10 }' \
    "$scratch/sockets" "/proc/$wrk/net/tcp" "/proc/$wrk/net/tcp" | sort >"$scratch/served"
  for pid in $(workers "$1"); do echo "$(sockets "$pid" | sort | comm -12 - "$scratch/served" | wc -l) $pid"; done |
    sort -rn | awk 'NR == 1 && $1 > 0 { print $2 }' >"$scratch/busy"
  [ -s "$scratch/busy" ]
}
sockets() { find "/proc/$1/fd" -lname 'socket:*' -printf '%l\n' 2>/dev/null | tr -cd '0-9\n'; }
# Workers that are not shutting down.
workers() { pgrep -P "$(master "$1")" -f '^nginx: worker process$'; }
both_workers() { [ "$(workers "$1" | wc -l)" = 2 ] && inside "$1" wrk -t1 -c1 -d1 "http://127.0.0.1:8080/stats" >/dev/null; }

# A command of the host in the network of a container.
inside() {
  local name=$1
  shift
  nsenter -t "$(master "$name")" -n -- "$@"
}

begin_load() { wrk_in "$1" 90 "${2:-}"; }
# wrk ends at SIGINT as it does when its time is over.
end_load() {
  local line
  kill -INT "$loading" 2>/dev/null || true
  wait "$loading" || { cat "$scratch/wrk" >&2; fail "wrk"; }
  line=$(tail -n 1 "$scratch/wrk")
  [[ $line =~ ^requests=([0-9]+)\ failed=0\ errors=([0-9]+) ]] || { cat "$scratch/wrk" >&2; fail "requests failed"; }
  requests=${BASH_REMATCH[1]} errors=${BASH_REMATCH[2]}
  [ "$requests" -gt 0 ] || fail "not one request was answered"
}
load() {
  begin_load "$1"
  busy_worker "$1" >/dev/null
  sleep 1
  end_load
}
wrk_in() {
  (exec nsenter -t "$(master "$1")" -n -- timeout $(($2 + 30)) wrk -t1 -c8 -d"$2" \
    -s "$checkout/tests/nginx/check.lua" http://127.0.0.1:8080/ -- /page $3 >"$scratch/wrk" 2>&1) &
  loading=$!
}

switches() { "$checkout/tests/nginx/switches" "$1"; }
all_off() {
  local pid
  for pid in $(workers "$1"); do
    [ "$(switches "$pid")" = "0 0" ] || return 1
  done
}

# -- Recording -----------------------------------------------------------------

# Status 77 where a method is missing on this machine or in this build.
need_way() {
  case $1 in
    bpftrace) command -v bpftrace >/dev/null || skip "bpftrace is not installed (scripts/deps --test)" ;;
    *) "$build/bin/luatrace-record" --help | grep >/dev/null -- --via || skip "luatrace-record has no --via in this build" ;;
  esac
}

recording_command() {
  local via=$1 pid=$2 file=$3
  shift 3
  case $via in
    bpftrace) echo env BPFTRACE_PERF_RB_PAGES=4096 bpftrace -p "$pid" -o "$file" "$checkout/probes/lua-calls.bt" ;;
    *) echo "$build/bin/luatrace-record" -v --via "$via" -p "$pid" -o "$file" "$@" ;;
  esac
}

# Returns when PID's switches show that the recorder is attached.
start_recording() {
  local pid=$2
  # shellcheck disable=SC2046  # a list of words
  $(recording_command "$@") >"$scratch/recorder.log" 2>&1 </dev/null &
  recorder=$!
  wait_for "$1 to attach to $pid" attached "$pid"
}
attached() {
  kill -0 "$recorder" 2>/dev/null || { cat "$scratch/recorder.log" >&2; fail "the recorder ended"; }
  [ "$(switches "$1")" != "0 0" ]
}

# recorded VIA FILE: until it has the events of 40 requests or more.
recorded() { wait_for "events in $2" has_size "$2" "$(enough "$1")"; }
has_size() { [ "$(stat -c %s "$1")" -gt "$2" ]; }
# The size of a file with so many: each has some 2,000 events.
enough() {
  case $1 in
    bpftrace) echo 3000000 ;;
    *) echo 1000000 ;;
  esac
}

stop_recording() {
  kill -INT "$recorder" 2>/dev/null || true
  end_of_recording
}
# Sets $recorder_status; the recorder ends by itself, or was sent a signal.
end_of_recording() {
  wait_for "the recorder to end" ended
  recorder_status=0
  wait "$recorder" || recorder_status=$?
  [ "$recorder_status" = 0 ] || { cat "$scratch/recorder.log" >&2; fail "the recorder's status is $recorder_status"; }
}
ended() { ! kill -0 "$recorder" 2>/dev/null || [ "$(ps -o stat= -p "$recorder" | cut -c1)" = Z ]; }

# -- What must be in a trace ---------------------------------------------------

# calls FILE.json NAME: calls of the function of shop.lua that is defined as NAME.
calls() {
  local line
  line=$(grep -nE "function (shop\.)?$2\(" "$checkout/tests/nginx/app/shop.lua" | cut -d: -f1)
  jq --argjson line "$line" '[.functions[] | select((.chunk | endswith("/shop.lua")) and .line == $line) | .calls] | add // 0' "$1"
}

# about WHAT A B [N]: equal, but for what was lost and for the requests in progress
# at both ends: of each of wrk's 8 connections one, which makes N of these calls.
about() {
  local difference=$(($2 - $3))
  [ "${difference#-}" -le $((8 * ${4:-1} + lost)) ] || fail "$1: $2 and $3, with $lost events lost"
}

# Every number follows from another one, whatever the number of requests was.
check_trace() {
  local json=$scratch/trace.json
  "$build/bin/luatrace-analyze" --json "$1" >"$json" || fail "luatrace-analyze cannot read $1"
  lost=$(jq .trust.lost "$json")
  jq -c .trust "$json"
  pages=$(calls "$json" page)
  [ "$pages" -gt 20 ] || fail "only $pages calls of shop.page in $1"
  about "make_item and price_of" "$(calls "$json" make_item)" "$(calls "$json" price_of)"
  about "items and make_item" $(($(calls "$json" items) * 12)) "$(calls "$json" make_item)" 12
  about "fetch_both and fetch" $((2 * $(calls "$json" fetch_both))) "$(calls "$json" fetch)" 2
  about "page and must_be_in_stock" $((pages * 24)) "$(calls "$json" must_be_in_stock)" 24
  about "render_row and escape" "$(calls "$json" render_row)" "$(calls "$json" escape)"
  jq -e '.trust | (.unbalanced == 0 or .lost > 0) and .bad_blocks == 0 and .bad_records == 0' "$json" >/dev/null ||
    fail "$1 has anomalies: $(jq -c .trust "$json")"
}
