# SPDX-License-Identifier: MIT
# For the tests of stap, on this machine: modules compiled for the guest's kernel,
# a folder shared with it. Source it behind tests/lib.sh, with $build set.
#
#   prepare                        skips the test if there can be no guest
#   module NAME SCRIPT [OPTION...] compiles probes/SCRIPT.stp to $share/NAME.ko
#   in_guest SCRIPT                runs tests/stap/SCRIPT there, in $share
#   reader WHAT NAME               what read_hits.py says of $share/NAME.out
#   value KEY NAME                 of its totals

stap_tests=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$stap_tests/../.." && pwd)
cache=$build/tests/stap/cache
export LUATRACE_GUEST_CACHE=$cache/guest XDG_CACHE_HOME=$cache SYSTEMTAP_DIR=$cache/stap

prepare() {
  local status=0
  command -v stap >/dev/null || skip "no stap (Debian: systemtap)"
  mkdir -p "$cache"
  release=$("$stap_tests/guest" --kernel 2>"$scratch/err") || status=$?
  [ $status -ne 77 ] || skip "$(cat "$scratch/err")"
  [ $status -eq 0 ] || fail "guest --kernel: $(cat "$scratch/err")"
  share=${STAP_TEST_SHARE:-$scratch/share}  # Set it to look at everything afterwards.
  mkdir -p "$share"
}

module() {
  local name=$1 script=$2
  shift 2
  (cd "$share" && "$root/stap/luatrace-stap" "$script" -r "$release" -p4 -m "$name" "$@") >"$scratch/log" 2>&1 ||
    fail "cannot compile $script: $(cat "$scratch/log")"
}

in_guest() {
  local status=0
  {
    echo "build='$build' tests='$stap_tests'"
    echo ". '$stap_tests/guest_lib.sh'"
    echo ". '$stap_tests/$1'"
  } >"$share/run"
  shift
  "$stap_tests/guest" --seconds "${STAP_TEST_SECONDS:-400}" "$@" "$share" bash -eu ./run || status=$?
  [ $status -ne 77 ] || skip "no guest"
  [ $status -eq 0 ] || fail "in the guest (status $status): $(tail -n 20 "$share"/*.err)"
}

reader() { "$stap_tests/read_hits.py" "$1" "$share/$2.out"; }
value() { reader totals "$2" | sed -n "s/^$1=//p"; }
