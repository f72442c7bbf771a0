# SPDX-License-Identifier: MIT
# For the tests of stap, inside the guest. Current folder: the shared one. Output of staprun goes to
# memory first (9p is slow), then to NAME.out, NAME.err and NAME.status of the shared folder.
#
#   luajit, linked, opened   the program itself; linked with the library; opening it later
#   spawns                   linked with it; has children in its own memory (spawns.c)
#   start NAME MODULE [OPTION OF STAPRUN...] [GLOBAL=VALUE...]
#                            returns when it is READY
#   user NAME                what a user typed, for the program started by gated
#   finish NAME              waits for it and keeps what it wrote
#   gated NAME COMMAND...    starts a program that waits for open_gate NAME; pid in $gated
#   await COMMAND...         returns when it succeeds; after a minute it has failed. The guest is as
#                            slow as this machine is busy: nothing here is judged by how long it took.
#   more_of FILE             FILE has had two lines more since this was first asked of it

luajit=$stripped/luajit
linked=$stripped/stap_host_linked
opened=$stripped/stap_host_dlopen
spawns=$stripped/stap_spawns
programs=$tests/programs
export XDG_CACHE_HOME=$cache LD_LIBRARY_PATH=$stripped HOST_LIBRARY=$stripped/libluajit-5.1.so.2

start() {
  echo "-- $*"
  local name=$1 module=$2 values=()
  shift 2
  while [[ ${!#} == *=* && ${!#} != *' '* ]]; do
    values=("${!#}" "${values[@]}")
    set -- "${@:1:$#-1}"
  done
  : >"/mnt/$name.err"
  staprun -o "/mnt/$name.out" "$@" "$module.ko" "${values[@]}" 2>"/mnt/$name.err" &
  stap=$!
  ready "$name" 60
}

ready() {
  local name=$1 i
  for ((i = 0; i < 10 * $2; i++)); do
    grep -q '^READY' "/mnt/$name.err" && return
    kill -0 $stap 2>/dev/null || break
    sleep 0.1
  done
  ! grep -q '^READY' "/mnt/$name.err" || return 0  # A short program has ended already.
  echo "$name: not ready:"
  cat "/mnt/$name.err"
  return 1
}

await() {
  local i
  for ((i = 0; i < 600; i++)); do
    ! "$@" || return 0
    sleep 0.1
  done
  echo "waited too long for: $*"
  return 1
}
declare -A lines_of
more_of() {
  local lines
  lines=$(wc -l <"$1")
  : "${lines_of[$1]:=$lines}"
  [ "$lines" -ge $((lines_of[$1] + 2)) ] || return 1
  unset "lines_of[$1]"
}

user() {
  echo "-- $(cat "$1.command") -x PID -o trace.bin"
  export SYSTEMTAP_DIR=/mnt/stap TMPDIR=/mnt
  [ -e $SYSTEMTAP_DIR ] || cp -r "$cache/stap" $SYSTEMTAP_DIR
  : >"/mnt/$1.err"
  bash -c "exec $(cat "$1.command") -x $gated -o /mnt/$1.out" 2>"/mnt/$1.err" &
  stap=$!
  ready "$1" 600
}

finish() {
  echo "-- end of $1"
  local status=0
  wait "$stap" || status=$?
  echo "$status" >"$1.status"
  cp "/mnt/$1.err" .
  [ ! -e "/mnt/$1.out" ] || cp "/mnt/$1.out" .
}

gated() {
  local name=$1
  shift
  "$1" "$programs/gate.lua" "/mnt/$name.go" "${@:2}" >"/mnt/$name.said" &
  gated=$!
}
open_gate() { : >"/mnt/$1.go"; }
