# SPDX-License-Identifier: MIT
# Shared by the shell tests. Source it first: it makes $scratch, a folder that is removed after the
# test, and stops the test at the first command that fails.
#
#   fail TEXT...          the test failed
#   skip TEXT...          cannot run here (ctest: skipped)
#   same WHAT A B         A and B are equal strings
#   refuses PATTERN CMD   CMD fails and prints PATTERN (a grep -E) on stderr
#   runs PID PROGRAM      returns when that process, first a shell, has executed PROGRAM
# pipefail: use "... | grep -q" only for output that is written at once: grep ends at the first
# match, and a process that still writes gets SIGPIPE. Otherwise use "... | grep ... >/dev/null".
set -euo pipefail

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() { echo "FAIL: $*" >&2; exit 1; }
skip() { echo "SKIP: $*" >&2; exit 77; }
same() { [ "$2" = "$3" ] || fail "$1 differ:
  $2
  $3"; }

refuses() {
  local pattern=$1 status=0
  shift
  "$@" >"$scratch/out" 2>"$scratch/err" || status=$?
  [ $status -ne 0 ] || fail "should have been refused: $*"
  grep -qE -e "$pattern" "$scratch/err" || fail "'$*' no message '$pattern', but: $(cat "$scratch/err")"
}

runs() {
  local i
  for ((i = 0; i < 300; i++)); do
    ! [ "/proc/$1/exe" -ef "$2" ] || return 0
    sleep 0.1
  done
  fail "process $1 does not become $2"
}

# A LuaJIT build as a user would start it, without what ctest or make exported.
plain_make() {
  env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u CFLAGS -u LDFLAGS make -j2 "$@" >"$scratch/make.log" 2>&1 ||
    { tail -n 30 "$scratch/make.log" >&2; fail "make $*"; }
}
