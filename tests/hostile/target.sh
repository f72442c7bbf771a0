#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Programs with false data for the recorder (target.c): each attachment ends or continues with a
# true message, handles ^C, needs little memory, and opens only regular files and rings. Usage:
# target.sh BUILD direct|bpf
source "$(dirname "$0")/../attach/lib.sh"
via=$2
liar=$build/tests/hostile/hostile_target
output=$scratch # where the trace goes
enough=30       # passes of the recorder that an attachment lasts
as=()           # how the recorder becomes another user
mkdir "$scratch/dir"

# lie WORDS...: starts the program, waits until it is ready
lie() {
  : >"$scratch/target.out"
  rm -f "$scratch/dir/file.so" # which may be another user's
  begin "$@"
  within 20 "the program" grep -q ready "$scratch/target.out"
}
# It sleeps after each pass. What has ended has looked, too.
has_looked() {
  grep -q '^peak' "$scratch/record.err" ||
    [ "$(awk '/^voluntary/ { print $2 }' "/proc/$child/status" 2>/dev/null)" -ge $enough ] 2>/dev/null
}
# attached OPTIONS...: records it until ^C; $status, $kilobytes (peak), $cpu (ms)
attached() {
  local pid=$target
  : >"$scratch/record.err"
  rm -f "$output/trace.bin"
  "${as[@]}" "$liar" peak "$bin/luatrace-record" -v -o "$output/trace.bin" --via "$via" "$@" -p "$pid" 2>"$scratch/record.err" &
  recorder=$!
  started+=($recorder)
  within 20 "the recorder to begin" grep -qE 'is being recorded|^peak' "$scratch/record.err"
  child=$(cat "/proc/$recorder/task/$recorder/children" 2>/dev/null) || true # empty if it has ended
  child=${child% }
  within 60 "the recorder to look at the Lua VMs" has_looked
  [ -z "$child" ] || kill -INT "$child" 2>/dev/null || true
  within 20 "the recorder to end after ^C" grep -q '^peak' "$scratch/record.err"
  status=0
  wait "$recorder" || status=$?
  read -r kilobytes cpu < <(awk '/^peak/ { print $2, $4 }' "$scratch/record.err")
}
# ends_with STATUS KILOBYTES PATTERN
ends_with() {
  [ "$status" = "$1" ] || { cat "$scratch/record.err" >&2; fail "$what: status $status, not $1"; }
  [ "$kilobytes" -le "$2" ] || fail "$what: the recorder took $kilobytes kB, more than $2"
  [ "$cpu" -le 5000 ] || fail "$what: the recorder was busy for $cpu ms"
  logged "$3" || { cat "$scratch/record.err" >&2; fail "$what: does not say '$3'"; }
}
over() {
  ! grep -q opened "$scratch/target.out" || fail "$what: the recorder has opened it"
  kill -9 $target
  wait $target 2>/dev/null || true
}
# attach_to WHAT STATUS PATTERN COMMAND...; try WHAT STATUS PATTERN WORDS...: the command is the liar
try() { attach_to "${@:1:3}" "$liar" "${@:4}"; }
attach_to() {
  what=$1
  lie "${@:4}"
  attached
  ends_with "$2" 40000 "$3"
  over
}

# Through the kernel's probes only the mapped files are read: these programs have none.
if [ "$via" = bpf ]; then
  [ "$(id -u)" = 0 ] || skip "--via bpf needs root"
  try "2,000 segments of notes, 1,000 times" 122 'no LuaJIT in it|without tracepoints' notes "$scratch/dir"
  try "20,000,000 sections" 122 'no LuaJIT in it|without tracepoints' sections "$scratch/dir"
  exit 0
fi

try "a list of Lua VMs with a loop" 124 'Lua VMs cannot be found: their list is damaged' loop
try "a Lua VM at an unmapped address" 124 'Lua VMs cannot be found: their list is damaged' nowhere
enough=10 # a pass takes long, and the pause after it too
try "65,536 Lua VMs whose rings are invalid" 124 'no event came' many
enough=30
try "a ring of 525 MB" 124 "its ring has 525.* MB, more than the 10.* MB allowed" big
try "a ring that can be made smaller" 124 'not sealed against changes of size' unsealed
try "2,000 segments of notes, 1,000 times" 124 'no event came' notes "$scratch/dir"
try "20,000,000 sections" 124 'no event came' sections "$scratch/dir"
"$liar" hugetlb >"$scratch/huge" 2>&1 &
huge=$!
started+=($huge)
huge_or_none() { grep -q ready "$scratch/huge" || ! kill -0 $huge 2>/dev/null; }
within 20 "a ring in huge pages, or none" huge_or_none
if grep -q ready "$scratch/huge"; then
  kill $huge
  try "a ring in huge pages" 124 'no event came' hugetlb
else
  echo "no huge pages here: a ring in them is not tried"
fi

# A command whose library is a FIFO when the recorder wants to report what was missing.
cp "$(ldd "$bin/luajit" | awk '/libm\.so/ { print $3 }')" "$scratch/dir/libluajit-none.so"
mkfifo "$scratch/wake"
begin "$bin/luatrace-record" -o "$scratch/trace.bin" -- env LD_PRELOAD="$scratch/dir/libluajit-none.so" bash -c \
  'read line <"$2"; rm "$1"; mkfifo "$1"' bash "$scratch/dir/libluajit-none.so" "$scratch/wake"
uses_it() { grep -qs libluajit-none.so $(printf '/proc/%s/maps ' $(cat "/proc/$target/task/$target/children")); }
within 20 "the command" uses_it
recorder=$target passes 20
timeout 20 sh -c 'echo >"$1"' sh "$scratch/wake" || fail "the command does not read"
gone() { ! kill -0 $target 2>/dev/null; }
within 20 "the recorder, with a FIFO under the library's name" gone
ended 0
grep -q 'It used .*/libluajit-none.so, which could not be read now' "$scratch/target.err" || fail "the file it used is not named"

# A ring whose descriptor is another file: a recorder that may open the mapped file does that, others record nothing.
# The other file is not opened.
mkfifo -m 666 "$scratch/dir/fifo"
by_number=(124 'no event came')
for mapped in /proc/self/map_files/*; do
  if (: <"$mapped") 2>/dev/null; then by_number=(0 'has sent the ring of a Lua VM'); fi
  break
done
try "a ring by the number of a FIFO" "${by_number[@]}" node "$scratch/dir/fifo"
try "a ring and a FIFO in turn" 0 'has sent the ring of a Lua VM' swap "$scratch/dir/fifo"

# The same with other permissions: root on another user's program, and a user on their own.
if [ "$(id -u)" = 0 ]; then
  chmod 711 "$scratch" && chown 65534 "$scratch/dir"
  user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
  for by in "" "${user[*]}"; do
    read -ra as <<<"$by"
    output=$scratch/dir
    what="another user's, recorded by ${as[*]:-root}:"
    attach_to "$what 20,000,000 sections" 124 'no event came' "${user[@]}" "$liar" sections "$scratch/dir"
    attach_to "$what a ring of 525 MB" 124 "its ring has 525.* MB, more than the 10.* MB allowed" "${user[@]}" "$liar" big
    attach_to "$what a list with a loop" 124 'their list is damaged' "${user[@]}" "$liar" loop
  done
  attach_to "another user's, recorded by that user: a ring by the number of a FIFO" 124 'no event came' \
    "${user[@]}" "$liar" node "$scratch/dir/fifo"
  as=() output=$scratch
fi

# Special files under a ring's number, or mapped in its place, whose names are as a memfd's would be: in the root of a
# container of their own.
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
  in_container='mount -t tmpfs none "$1" && cd "$1" && mkdir old && cp "$2" target && name="memfd:luatrace-ring (deleted)" &&
    mknod "$name" $4 && pivot_root . old && exec /target $3 "/$name"'
  for node in "node c 10 229" "node c 1 3" "node p" "map c 1 5"; do # /dev/fuse, /dev/null, a FIFO; /dev/zero
    read -r how device <<<"$node"
    what="'$device' called as a ring ($how)"
    lie unshare -m bash -c "$in_container" bash "$scratch/dir" "$liar" "$how" "$device"
    same "its name" "$(readlink "/proc/$target/fd/50")" '/memfd:luatrace-ring (deleted)'
    [ "$how" = node ] || grep -q ' /memfd:luatrace-ring (deleted)$' "/proc/$target/maps" || fail "$what: not mapped by that name"
    attached
    if [ "$how" = map ]; then
      ends_with 124 40000 'no event came'
    else
      ends_with "${by_number[0]}" 40000 "${by_number[1]}"
    fi
    over
  done
else
  echo "no mount namespaces here: names like a ring's are not tried"
fi
