# SPDX-License-Identifier: MIT
# Shared by the shell tests. Source it first: it makes $scratch, a folder that is removed after the
# test, and stops the test at the first command that fails.
#
#   fail TEXT...          the test failed
#   skip TEXT...          cannot run here (ctest: skipped)
#   same WHAT A B         A and B are equal strings
#   refuses PATTERN CMD   CMD fails and prints PATTERN (a grep -E) on stderr
#   within SECONDS WHAT CMD...   waits until CMD succeeds; on a busy machine that may take longer
#   runs PID PROGRAM      returns when that process, first a shell, has executed PROGRAM
#   works PID N           returns when that process has had a processor for N/100 s more
#   sleeps PID N          returns when that process has been asleep N times more
#
# At the end of the test its background jobs are killed, and the processes in started=().
#
# pipefail: no "... | grep -q" (repo.pipes): grep ends at the first match, and a process that still
# writes gets SIGPIPE. Use "... | grep ... >/dev/null"; if the process itself fails, use a file.
set -euo pipefail

scratch=$(mktemp -d)
started=()
end_started() { kill -9 "${started[@]}" $(jobs -p) 2>/dev/null || true; }
trap 'end_started; rm -rf "$scratch"' EXIT

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
  grep -qE -e "$pattern" "$scratch/err" || fail "'$*': no message '$pattern', but: $(cat "$scratch/err")"
}

within() {
  local tries=$(($1 * 50)) what=$2
  shift 2
  until "$@"; do
    tries=$((tries - 1))
    [ $tries -gt 0 ] || { cat "$scratch"/*.err >&2 || true; fail "waited too long for $what"; }
    sleep 0.02
  done
}
runs() { within 30 "process $1 to execute $2" test "/proc/$1/exe" -ef "$2"; }
# Asked many times a second: no process is started for an answer.
ticks() {
  local text
  { read -r text <"/proc/$1/stat"; } 2>/dev/null || { echo 0; return; }
  read -ra text <<<"${text##*) }"
  echo $((text[11] + text[12]))
}
has_worked() { [ "$(ticks "$1")" -ge "$2" ]; }
slept() {
  local key value
  while read -r key value; do [[ $key != voluntary* ]] || echo "$value"; done <"/proc/$1/status"
}
has_slept() { [ "$(slept "$1")" -ge "$2" ]; }
sleeps() { within 60 "process $1 to sleep $2 times" has_slept "$1" $(($(slept "$1") + $2)); }
works() { within 60 "process $1 to get a processor" has_worked "$1" $(($(ticks "$1") + $2)); }

# A LuaJIT build as a user would start it, without what ctest or make exported.
plain_make() {
  env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u CFLAGS -u LDFLAGS make -j2 "$@" >"$scratch/make.log" 2>&1 ||
    { tail -n 30 "$scratch/make.log" >&2; fail "make $*"; }
}
