#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The files that the recorder and the analyzer write: for their owner alone, and never through a
# name that another user could have created. Usage: outputs.sh BUILD. (Our code checks symbolic and
# hard links: the machine's fs.protected_* settings may be off.)
source "$(dirname "$0")/../lib.sh"
bin=$1/bin
umask 022

trace=$scratch/seed.bin
"$bin/luatrace-record" -q -o "$trace" -- "$bin/luajit" -e 'local function f() end for i = 1, 9 do f() end'
same "mode of a trace" "$(stat -c %a "$trace")" 600

# The ways of writing one file, as command lines; %s is the name of the file.
ways=(
  "$bin/luatrace-record -q --force -o %s -- $bin/luajit -e os.clock()"
  "$bin/luatrace-analyze -q --force --page=%s $trace"
  "$bin/luatrace-analyze -q --force --folded=%s $trace"
  "$bin/luatrace-analyze -q --force --json=%s $trace"
  "$bin/luatrace-analyze -q --force --csv=%s $trace"
  "$bin/luatrace-analyze -q --force --save-profile=%s $trace"
  "$bin/luatrace-analyze -q --force --format speedscope -o %s $trace"
  "$bin/luatrace-analyze -q --force --format chrome -o %s $trace"
)
# write WAY NAME: as that user, if one is set
user=()
write() {
  local way=$1 name=$2 line
  read -ra line <<<"${way//%s/$name}"
  "${user[@]}" "${line[@]}" >"$scratch/out" 2>"$scratch/err"
}
# taken WAY NAME FILE MODE: written, into FILE
taken() {
  write "$1" "$2" || fail "${1%% %s*} does not write $2: $(cat "$scratch/err")"
  [ -s "$3" ] || fail "${1%% %s*}: $3 is empty"
  same "mode of $3 (${1%% %s*})" "$(stat -c %a "$3")" "$4"
}
# left_alone WAY NAME FILE PATTERN: refused, with the reason PATTERN; FILE is unchanged
left_alone() {
  ! write "$1" "$2" || fail "${1%% %s*} writes $2"
  grep -qE -- "$4" "$scratch/err" || fail "'$1', $2: does not say '$4' but: $(cat "$scratch/err")"
  same "content of $3 after '$1'" "$(cat "$3")" precious
}

for way in "${ways[@]}"; do
  # A user's own folder: new files, existing ones, the user's own links, paths with links and dots.
  own=$scratch/own
  rm -rf "$own" && mkdir -p "$own/real" && ln -s real "$own/link"
  taken "$way" "$own/new" "$own/new" 600
  echo UNTIL-NOW >"$own/kept" && chmod 640 "$own/kept" # a mode that was chosen stays
  taken "$way" "$own/kept" "$own/kept" 640
  ! grep -qa UNTIL-NOW "$own/kept" || fail "$way: not emptied"
  ln -s ./real/../real/target "$own/to"
  taken "$way" "$own/link/../to" "$own/real/target" 600
  ln -s loop "$own/loop"
  ! write "$way" "$own/loop" || fail "$way: a link to itself"
  grep -q 'Too many levels' "$scratch/err" || fail "$way: a link to itself: $(cat "$scratch/err")"
  write "$way" /dev/null || fail "$way: /dev/null: $(cat "$scratch/err")"
  (write "$way" /dev/stdout && [ -s "$scratch/out" ]) || fail "$way: /dev/stdout: $(cat "$scratch/err")"
  mkfifo "$own/fifo"
  timeout 20 cat "$own/fifo" >"$own/read" &
  write "$way" "$own/fifo" || fail "$way: a FIFO: $(cat "$scratch/err")"
  wait $!
  [ -s "$own/read" ] || fail "$way: nothing came through the FIFO"
done

# Links and files of another user: only root can create them here, and only root is worth attacking.
[ "$(id -u)" = 0 ] || { echo "not as root: other users' links are not tried"; exit 0; }
chmod 711 "$scratch"
for way in "${ways[@]}"; do
  mark=$scratch/mark theirs=$scratch/theirs all=$scratch/all
  rm -rf "$theirs" "$all" "$mark" && mkdir "$theirs" "$all" "$mark"
  echo precious >"$mark/file"
  chown 65534 "$theirs" && chmod 1777 "$all"
  # Their directory: links there (also root's own, which they could put elsewhere), their files, hard links.
  ln -s "$mark/file" "$theirs/a" && chown -h 65534 "$theirs/a"
  left_alone "$way" "$theirs/a" "$mark/file" "'a' is a symbolic link of user 65534 in a directory of user 65534"
  ln -s "$mark" "$theirs/d" && chown -h 65534 "$theirs/d"
  left_alone "$way" "$theirs/d/file" "$mark/file" "'d' is a symbolic link of user 65534"
  ! write "$way" "$theirs/d/new" || fail "$way: through a directory's link"
  [ ! -e "$mark/new" ] || fail "$way: a file was made through a directory's link"
  ln -s "$mark/file" "$theirs/r"
  left_alone "$way" "$theirs/r" "$mark/file" "'r' is a symbolic link of user 0 in a directory of user 65534"
  ln "$mark/file" "$theirs/h"
  left_alone "$way" "$theirs/h" "$mark/file" "other names \(hard links\)"
  echo precious >"$theirs/f" && chown 65534 "$theirs/f"
  left_alone "$way" "$theirs/f" "$theirs/f" "belongs to user 65534"
  mkfifo "$theirs/p" && chown 65534 "$theirs/p"
  user=(timeout 20) # else it would wait for a reader
  ! write "$way" "$theirs/p" || fail "$way: writes to another user's FIFO"
  user=()
  grep -q "belongs to user 65534" "$scratch/err" || fail "$way: a FIFO: $(cat "$scratch/err")"
  taken "$way" "$theirs/new" "$theirs/new" 600
  same "its owner" "$(stat -c %u "$theirs/new")" 0
  taken "$way" "$theirs/new" "$theirs/new" 600 # a second time: it is ours
  # A directory like /tmp: the user's own links are followed, another user's are not.
  ln -s "$mark/new" "$all/mine" && ln -s "$mark/file" "$all/not" && chown -h 65534 "$all/not"
  left_alone "$way" "$all/not" "$mark/file" "'not' is a symbolic link of user 65534 in a directory of user 0"
  taken "$way" "$all/mine" "$mark/new" 600
  chmod 777 "$all" # without the sticky bit any user could have exchanged it
  echo precious >"$mark/new"
  left_alone "$way" "$all/mine" "$mark/new" "'mine' is a symbolic link of user 0"
done

# An ordinary user, in a folder of their own and in one like /tmp.
mkdir "$scratch/place" && chown 65534:65534 "$scratch/place" && chmod 775 "$scratch/place" && chmod 1777 "$all"
chmod 644 "$trace"
user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
for way in "${ways[@]}"; do
  rm -f "$scratch"/place/* "$all"/*
  "${user[@]}" ln -s real "$scratch/place/link"
  taken "$way" "$scratch/place/link" "$scratch/place/real" 600
  echo precious >"$all/bait" && chmod 666 "$all/bait"
  left_alone "$way" "$all/bait" "$all/bait" "belongs to user 0"
  ln -s "$scratch/place/victim" "$all/root_made" # root may: it may do anything
  taken "$way" "$all/root_made" "$scratch/place/victim" 600
done

# A file that was created for nothing is removed, but never through a link that was created since:
# here, a file per process.
rm -rf "$theirs" && mkdir "$theirs" && chown 65534 "$theirs"
status=0
"$bin/luatrace-record" -q -o "$theirs/none.bin" -- /does/not/exist 2>/dev/null || status=$?
same "status" $status 127
[ ! -e "$theirs/none.bin" ] || fail "a trace was left behind"
