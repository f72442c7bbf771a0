# SPDX-License-Identifier: MIT
# For the tests of stap, and of other kernels, on this machine: modules compiled for the guest's kernel, a
# folder shared with it. Source it after tests/lib.sh, with $build set.
#
#   prepare                        skips the test if there can be no guest, or no stap
#   prepare_guest [OPTION...]      the first, with options of guest (--release); makes $stripped,
#                                  a folder with our luajit and library without any symbols
#   module NAME SCRIPT [OPTION...] compiles probes/SCRIPT.stp to $share/NAME.ko
#   user NAME PROGRAM COMMAND...   what a user types, up to the module: COMMAND for a process
#                                  of that program; NAME.command is what the guest does
#   rebuild FILE COPY              the same file with another build id
#   in_guest SCRIPT [OPTION...]    runs tests/stap/SCRIPT, or a file, there, in $share, with the variables that
#                                  the text $guest_variables sets
#   reader WHAT NAME               what read_hits.py says of $share/NAME.out
#   value KEY NAME                 of its totals

stap_tests=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$stap_tests/../.." && pwd)
cache=$build/tests/stap/cache
stripped=$build/tests/stap/stripped
export LUATRACE_GUEST_CACHE=${LUATRACE_GUEST_CACHE:-$cache/guest} XDG_CACHE_HOME=$cache SYSTEMTAP_DIR=$cache/stap

# A shell that waits for a child in the foreground takes no signal: what takes long goes through
# this, and ends with us.
trap 'exit 130' INT
trap 'exit 143' TERM HUP
wait_for() {
  setpriv --pdeathsig TERM "$@" &
  wait $!
}

prepare() {
  command -v stap >/dev/null || skip "no stap (Debian: systemtap)"
  prepare_guest
}

guest_options=()
prepare_guest() {
  local status=0
  guest_options=("$@")
  mkdir -p "$cache"
  release=$("$stap_tests/guest" "$@" --kernel 2>"$scratch/err") || status=$?
  [ $status -ne 77 ] || skip "$(tail -n 1 "$scratch/err") ($(head -n -1 "$scratch/err" | tr '\n' ' '))"
  [ $status -eq 0 ] || fail "guest --kernel: $(cat "$scratch/err")"
  share=${STAP_TEST_SHARE:-$scratch/share}  # Set it to look at everything afterwards.
  mkdir -p "$share" "$stripped"
  local file
  for file in bin/luajit lib/libluajit-5.1.so.2 tests/stap/stap_{host_linked,host_dlopen,spawns}; do
    [ "$stripped/${file##*/}" -nt "$build/$file" ] || strip -o "$stripped/${file##*/}" "$build/$file"
  done
  same "symbols" "" "$(readelf -SW "$stripped"/* | grep -E '\.(symtab|debug)' || true)"
}

module() {
  local name=$1 script=$2
  shift 2
  (cd "$share" && "$root/stap/luatrace-stap" "$script" -r "$release" -p4 -m "$name" "$@") >"$scratch/log" 2>&1 ||
    fail "cannot compile $script: $(cat "$scratch/log")"
}

# The guest would need minutes to compile: it finds the module in a copy of stap's cache.
user() {
  local name=$1 program=$2 pid
  shift 2
  printf '%q ' "$@" >"$share/$name.command"
  "$program" "$stap_tests/programs/gate.lua" "$scratch/never" &
  pid=$!
  runs $pid "$program"
  "$@" -x $pid -r "$release" -p4 >"$scratch/log" 2>&1 || { kill $pid; fail "$*: $(cat "$scratch/log")"; }
  kill $pid
}

rebuild() {
  python3 - "$1" "$2" <<'END'
import os, subprocess, sys
data = open(sys.argv[1], 'rb').read()
notes = subprocess.run(['readelf', '-n', sys.argv[1]], capture_output=True, text=True).stdout
old = bytes.fromhex(notes.split('Build ID: ')[1].split()[0])
assert data.count(old) == 1
open(sys.argv[2], 'wb').write(data.replace(old, bytes(b ^ 0x55 for b in old)))
os.chmod(sys.argv[2], 0o755)
END
}

in_guest() {
  local status=0 script=$1
  [[ $script == /* ]] || script=$stap_tests/$script
  {
    echo "${guest_variables-}"
    echo "build='$build' tests='$stap_tests' stripped='$stripped' cache='$cache'"
    echo ". '$stap_tests/guest_lib.sh'"
    echo ". '$script'"
  } >"$share/run"
  shift
  wait_for "$stap_tests/guest" --seconds "${STAP_TEST_SECONDS:-400}" "${guest_options[@]}" "$@" "$share" bash -eu ./run || status=$?
  [ $status -ne 77 ] || skip "no guest"
  [ $status -eq 0 ] || fail "in the guest (status $status): $(tail -n 20 "$share"/*.err)"
}

reader() { "$stap_tests/read_hits.py" "$1" "$share/$2.out"; }
value() { reader totals "$2" | sed -n "s/^$1=//p"; }
