# SPDX-License-Identifier: MIT
# Shared by the tests of luatrace-fleet. Source it with BIN, the folder of the built programs. It makes,
# in $scratch, where the test then is:
#
#   bin/luatrace-fleet, bin/luatrace-analyze   the second logs each call in $scratch/calls, does what
#                         the test wants to happen ($scratch/before, sourced), then runs the real one
#   t1.bin ... t9.bin     traces, one of them cut off in the middle (it is still readable)
#   broken.bin            no trace; missing.bin does not exist
#   inputs                all of these, a line each
#   one.profile           what the real luatrace-analyze makes of what is readable
#
#   fleet STATUS ARGUMENT...   runs luatrace-fleet, and checks its exit status; $scratch/out, $scratch/err
#   equal WHAT [PROFILE]       out.profile is the same bytes as PROFILE (one.profile); removes it
#   kills NAME PATTERN HOW     in $scratch/before: the first call whose arguments match PATTERN ends HOW:
#                              analyzer (kill -9), task (kill -9 of the task, too), or a command
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/../lib.sh"
bin=$(cd "$1" && pwd)
analyze=$bin/luatrace-analyze
cd "$scratch"
mkdir programs
cp "$bin/luatrace-fleet" programs/
: >before
cat >programs/luatrace-analyze <<END
#!/bin/bash
echo "\${SLURMD_NODENAME-\${FLEET_HOST-}} \$*" >>"$scratch/calls"
# The outermost process of the task that runs this.
task() {
  local pid=\$PPID found=
  while [ "\$pid" -gt 1 ] && tr '\\0' ' ' <"/proc/\$pid/cmdline" | grep -e --task >/dev/null; do
    found="\$found \$pid"
    pid=\$(sed 's/.*) . \\([0-9]*\\).*/\\1/' "/proc/\$pid/stat")
  done
  echo "\$found"
}
source "$scratch/before"
exec "$analyze" "\$@"
END
chmod +x programs/luatrace-analyze

for i in 1 2 3 4 5 6 7 8 9; do
  "$bin/luatrace-synth" -o t$i.bin --events 3000 --nodes 60 --functions 40 --seed $i >/dev/null
done
truncate -s 15000 t5.bin
echo "no trace" >broken.bin
printf '%s\n' t1.bin t2.bin missing.bin t3.bin t4.bin t5.bin broken.bin t6.bin t7.bin t8.bin t9.bin >inputs
"$analyze" -q t?.bin --save-profile one.profile 2>one.err
grep "t5.bin.*cut" one.err >/dev/null || fail "t5.bin was to be a trace that is cut: $(cat one.err)"

fleet() {
  local expected=$1 status=0
  shift
  programs/luatrace-fleet "$@" >out 2>err || status=$?
  [ $status = "$expected" ] || fail "luatrace-fleet $*: status $status instead of $expected: $(cat out err)"
}
equal() {
  cmp out.profile "${2-one.profile}" || fail "$1: not the bytes of one machine"
  rm out.profile
}
kills() {
  local do
  case $3 in
    analyzer) do='kill -9 $$' ;;
    task) do='kill -9 $(task) $$' ;;
    *) do=$3 ;;
  esac
  echo "if [[ \"\$*\" == $2 ]] && mkdir '$scratch/$1' 2>/dev/null; then $do; fi" >>before
}
# The two inputs that are left out are named with the reason, and t5.bin's loss is.
names_them() {
  grep -E 'left out: missing.bin: cannot open' err >/dev/null && grep -E 'left out: broken.bin: not a luatrace trace' err >/dev/null &&
    grep -E '^luatrace-analyze: t5.bin: .*cut' err >/dev/null || fail "messages: $(cat err)"
  same "inputs left out" "$(grep -c 'left out' err)" 2
  same "last line" "$(tail -n 1 out)" "luatrace-fleet: 9 of 11 inputs are in out.profile"
}
