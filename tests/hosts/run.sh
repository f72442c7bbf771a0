#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Runs programs of Debian that have a LuaJIT with ours, as a user has it from our packages, each in a
# container of its own, and records it in every way. On demand: it needs some minutes and 1 GB for all.
#
#   tests/hosts/run.sh BUILD [PROGRAM...]     all in tests/hosts/programs, or these; first: ctest -R containers.setup
#
# Prints one line for each program, in the form of the table in docs/hosts.md:
#   drop-in   it runs with our library, and answers
#   start     it is recorded by luatrace-record -- COMMAND, inside the container
#   direct, bpf   it is recorded from the host while it runs, and answers afterwards
# "yes" means: the trace has calls of the program's own Lua function and no anomalies. What else there is, is said.
#
# A file in programs/ is sourced, and has
#   packages     Debian's packages
#   program      the name of the process that has the Lua VM
#   function     a Lua function of the file that must be in each trace
#   files        a function that writes, below the current folder, what is in the container's /app
#   serve        the command, which runs for as long as it is needed (at least a minute)
#   children     1: Lua runs in the child processes of program, too
#   answers      a command for the container that succeeds if the program works
source "$(dirname "$0")/../containers/engine.sh"
need_containers
hosts=$here/../hosts
programs=("${@:2}")
[ ${#programs[@]} -gt 0 ] || mapfile -t programs < <(cd "$hosts/programs" && ls)

# 50 questions to a DNS server, for the programs that are one.
dns_client() {
  cat >ask.py <<'PYTHON'
import os, socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    s.settimeout(2)
    for _ in range(50):
        name = os.urandom(8).hex().encode()  # One that no cache has.
        s.sendto(bytes.fromhex("12340100000100000000000010") + name + b"\x04test\x00\x00\x01\x00\x01", ("127.0.0.1", int(sys.argv[1])))
        if s.recv(512)[:2] != b"\x12\x34":
            sys.exit("a wrong answer")
PYTHON
}

image_of() { # NAME: with its packages, and ours
  local name=$1 packages=${packages[*]}
  podman build -q --pull=never --network=host -t "$prefix/host-$name" --build-arg BASE="$prefix/base" --build-arg MORE="$packages" \
    --build-arg PACKAGES="$(cd "$state/packages" && ls ./*.deb | xargs)" -f "$here/Containerfile.tools" "$state/packages" \
    >"$scratch/build.log" 2>&1 || { tail -n 5 "$scratch/build.log" >&2; return 1; }
}

start_container() { # NAME COMMAND...
  local name=$1
  started+=("host-$name")
  podman rm -f -t 1 "host-$name" >/dev/null 2>&1 || true
  podman run -d --name "host-$name" --pull never --network none --user 0 --tmpfs /tmp -v "$scratch/$name:/app" -w /app \
    --entrypoint '' "$prefix/host-$name" "${@:2}" >/dev/null
}
end_container() { podman rm -f -t 2 "host-$1" >/dev/null 2>&1; }
in_container() { timeout 20 podman exec "host-$1" sh -c "$2" >"$scratch/exec.log" 2>&1; }

# The process that has our library mapped, and this name.
process() { # NAME
  local pid
  for pid in $(podman top "host-$1" hpid | tail -n +2); do
    [[ $(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null) == *"$program"* && $(cat "/proc/$pid/comm") != luatrace-record ]] || continue
    grep -q libluajit "/proc/$pid/maps" 2>/dev/null && { echo "$pid"; return; }
  done
  return 1
}

# yes, or what is wrong with a trace
judged() { # FILE FOLDER-OF-SOURCES
  local json=$scratch/judged.json
  "$build/bin/luatrace-analyze" -q --json "$1" >"$json" 2>"$scratch/judged.err" || { head -n 1 "$scratch/judged.err"; return; }
  # By name, where one is known; a callback has none, but its line.
  jq -r --arg f "$function" --argjson line "$(grep -rhn "function $function(" "$2" | head -n 1 | cut -d: -f1)" '
    if ([.functions[] | select(.calls > 0 and ((.name | contains($f)) or .line == $line))] | length) == 0 then "no call of \($f)"
    elif .trust.anomalies > 0 then "\(.trust.anomalies) anomalies"
    elif .trust.lost > 0 then "yes, \(.trust.lost) events lost"
    else "yes" end' "$json"
}

attached() { # NAME VIA
  local pid status=0
  pid=$(process "$1") || { echo "no process"; return; }
  "$build/bin/luatrace-record" -q --via "$2" -o "$scratch/$2.bin" -p "$pid" ${children:+--children} -d 2 2>"$scratch/record.err" || status=$?
  [ $status = 0 ] || { echo "status $status: $(head -n 1 "$scratch/record.err")"; return; }
  judged "$scratch/$2.bin" "$scratch/$1"
}

try() { # NAME
  local name=$1 dropin direct bpf start version
  mkdir -p "$scratch/$name"
  (cd "$scratch/$name" && files)
  chmod -R a+rwX "$scratch"
  image_of "$name" || { echo "| $name | not installed |"; return; }
  version=$(podman run --rm --network none --entrypoint '' "$prefix/host-$name" dpkg-query -W -f '${Version}' "${packages[0]}")

  start_container "$name" sh -c "$serve"
  dropin=no
  for ((i = 0; i < 300; i++)); do
    ! in_container "$name" "$answers" || { dropin=yes; break; }
    sleep 0.1
  done
  if [ $dropin = no ]; then
    podman logs "host-$name" 2>&1 | tail -n 5 >&2
    cat "$scratch/exec.log" >&2
  elif ! grep -q luajit-usdt "/proc/$(process "$name")/maps"; then
    dropin="another library: $(grep -m1 -o '/.*luajit.*' "/proc/$(process "$name")/maps")"
  else
    podman exec "host-$name" sh -c "while :; do $answers; done" >/dev/null 2>&1 &
    load=$!
    direct=$(attached "$name" direct)
    bpf=$(attached "$name" bpf)
    in_container "$name" "$answers" || dropin="no longer after recording"
    kill "$load" 2>/dev/null || true
  fi
  end_container "$name"

  start_container "$name" luatrace-record -q -o /app/start.bin -- timeout 30 sh -c "$serve"
  local answered=0
  for ((i = 0; i < 200 && answered < 5; i++)); do
    ! in_container "$name" "$answers" || answered=$((answered + 1))
    sleep 0.1
  done
  # The recorder ends as a command does at ^C: the program, too.
  in_container "$name" 'kill -INT $(pidof luatrace-record)' || true
  timeout 60 podman wait "host-$name" >/dev/null 2>&1 || true
  start=$(judged "$scratch/$name/start.bin" "$scratch/$name")
  [ "$start" = yes ] || podman logs "host-$name" 2>&1 | tail -n 3 >&2
  end_container "$name"
  echo "| $name $version | $dropin | $start | ${direct-} | ${bpf-} |"
}

echo "| program | drop-in | start | direct | bpf |"
echo "|---|---|---|---|---|"
for name in "${programs[@]}"; do
  [ -r "$hosts/programs/$name" ] || fail "$name: there is no tests/hosts/programs/$name"
  children=
  # shellcheck source=/dev/null
  source "$hosts/programs/$name"
  try "$name"
done
