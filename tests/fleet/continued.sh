#!/bin/bash
# SPDX-License-Identifier: MIT
# A work folder: what is done there is not done again, after the driver was ended and after an error that
# was not the inputs' fault.
source "$(dirname "$0")/lib.sh"
command=(-o out.profile --from inputs --batch 2 --jobs 2 --work work)

# One task waits until it is ended; the driver is ended, and with it this task.
kills waits '*" t4.bin"' "echo \$\$ >'$scratch/waiting'; exec sleep 600"
programs/luatrace-fleet "${command[@]}" >out 2>err &
driver=$!
within 30 "a task to wait" test -s waiting
within 30 "the others to be done" test -e work/done/0.5.profile
kill "$driver"
status=0
wait "$driver" || status=$?
same "status of a driver that was ended" "$status" 143
within 10 "the task to end" test ! -e "/proc/$(cat waiting)"
[ ! -e out.profile ] || fail "a profile was written"
fleet 3 "${command[@]}"
names_them
same "analyses of t9.bin, and of t4.bin" "$(grep -c ' t9.bin$' calls) $(grep -c ' t4.bin$' calls)" "1 2"
equal "continued"

# All is done: only the output is made again, by the folder alone.
: >calls
fleet 3 --work work -o out.profile
same "calls for a result that is there" "$(wc -l <calls)" 1
equal "again"

# A full work folder (the message of the real program), and a machine without luatrace-analyze, are no
# fault of the inputs.
for command in 'echo "luatrace-analyze: $part: cannot write: No space left on device" >&2; exit 2' \
  'echo "luatrace-analyze: not found" >&2; exit 127'; do
  echo "case \"\$*\" in *' t6.bin') part=\$(sed 's/.*--save-profile \\([^ ]*\\).*/\\1/' <<<\"\$*\"); $command ;; esac" >before
  fleet 2 -o out.profile --from inputs --batch 4 --work full
  grep -E 'part.*No space left on device|not found' err >/dev/null || fail "messages: $(cat err)"
  [ ! -e out.profile ] && [ ! -e full/left-out/7 ] || fail "t6.bin was left out"
done

# Merges fail, too: nothing is written; later they are tried again.
echo 'case "$*" in *done/0.1.profile*) kill -9 $$ ;; esac' >before
fleet 2 --work full -o out.profile
grep 'task 1:0: not merged in 3 attempts' err >/dev/null || fail "messages: $(cat err)"
: >before
fleet 3 --work full -o out.profile
equal "with everything again"
