# SPDX-License-Identifier: MIT
# The part of run.sh that runs in the guest. Current folder: the shared one. Nothing is judged here: of each cell NAME
# there is NAME.status (124: it took too long), NAME.err, and what it wrote, for the host (run.sh). Output goes to memory first.
#
#   try NAME SECONDS COMMAND...     of that cell, with its files
#   attach NAME PROGRAM OPTIONS...  records a program that waits at a gate (gate.lua)
set +e
probed=$stripped/luajit # by path, as stap's module knows it
luajit=/mnt/luajit      # not on 9p, which is too slow here for a recorder that does not wait for files of others
cp "$probed" $luajit
programs=$tests/programs
own=$kernels/programs
record=$stripped/luatrace-record
export HOME=/mnt XDG_CACHE_HOME=$cache TMPDIR=/mnt
limit=300

keep() { # NAME STATUS
  cp /mnt/"$1".* . 2>/dev/null
  echo "$2" >"$1.status"
  echo "-- $1: status $2"
}
try() {
  local name=$1 seconds=$2 status
  shift 2
  [[ " $wanted " == *" ${name%%_*} "* ]] || return 0
  timeout -k 5 -s INT "$seconds" "$@" >"/mnt/$name.out" 2>"/mnt/$name.err"
  status=$?
  keep "$name" $status
  return $status
}
# await SECONDS COMMAND...
await() {
  local i tries=$(($1 * 10))
  shift
  for ((i = 0; i < tries; i++)); do
    ! "$@" || return 0
    sleep 0.1
  done
  return 1
}
runs_luajit() { grep -qs "r-xp.*$luajit" "/proc/$1/maps"; }
ended() { ! kill -0 "$1" 2>/dev/null; }
recording() { grep -q 'is being recorded' "/mnt/$1.err" || ended "$recorder"; }

# begin NAME OPTIONS...: a recorder of $target; returns when it records, or has ended.
begin() {
  local name=$1
  shift
  : >"/mnt/$name.err"
  timeout -k 5 -s INT $limit "$record" -v -o "/mnt/$name.bin" -p $target "$@" 2>"/mnt/$name.err" &
  recorder=$!
  await 200 recording "$name"
}
finish() { # NAME
  local status
  wait $recorder
  status=$?
  keep "$1" $status
}
attach() {
  local name=$1
  shift
  [[ " $wanted " == *" ${name%%_*} "* ]] || return 0
  "$luajit" "$1" "/mnt/$name.go" "$2" >"/mnt/$name.out" 2>&1 &
  target=$!
  shift 2
  await 200 runs_luajit $target # It has executed luajit, not only begun to.
  begin "$name" "$@"
  : >"/mnt/$name.go"
  wait $target
  finish "$name"
}
# A process that goes on afterwards, untouched.
detach() {
  local name=$1
  shift
  [[ " $wanted " == *" ${name%%_*} "* ]] || return 0
  "$luajit" "$own/stays.lua" "/mnt/$name.words" "/mnt/$name.stop" 2>"/mnt/$name.said" &
  target=$!
  await 200 [ -s "/mnt/$name.words" ]
  begin "$name" -d 2 "$@"
  finish "$name"
  sleep 2 # Meanwhile it notices.
  : >"/mnt/$name.stop"
  wait $target
  echo $? >"$name.stayed"
  cp "/mnt/$name.words" .
}

uname -r
cat /sys/devices/system/clocksource/clocksource0/current_clocksource

try direct_start $limit "$record" -v --via direct -o /mnt/direct_start.bin -- "$luajit" "$programs/exact.lua"
attach direct_attach "$programs/gate.lua" "$programs/exact.lua" --via direct
detach direct_detach --via direct
attach direct_kill "$own/ends.lua" kill --via direct

try bpf_start $limit "$record" -v --via bpf -o /mnt/bpf_start.bin -- "$luajit" "$programs/exact.lua"
attach bpf_each "$programs/gate.lua" "$programs/exact.lua" --via bpf --bpf-link each
attach bpf_multi "$programs/gate.lua" "$programs/exact.lua" --via bpf --bpf-link multi
detach bpf_detach --via bpf
for way in exit kill exec; do attach bpf_$way "$own/ends.lua" $way --via bpf; done

attach auto_attach "$programs/gate.lua" "$programs/exact.lua"
"$luajit" "$own/burn.lua" 60 >/dev/null 2>&1 &
burning=$!
try auto_top $limit "$stripped/luatrace-top" -p $burning -n 1s --count 5
try sample_top $limit "$stripped/luatrace-top" --sample -p $burning -n 1s --count 5
kill $burning

# Cost and shares say nothing under emulation: only whether stacks are right.
try sample_start $limit "$record" --sample 199 -o /mnt/sample_start.bin -- "$luajit" "$sample/truth.lua" 4 plain
try offcpu_start $limit "$record" --sample 199 --off-cpu -o /mnt/offcpu_start.bin -- "$luajit" "$sample/waits.lua" 4 plain 199

cat >/mnt/perf.sh <<'PERF'
set -e
cd /mnt
perf buildid-cache --add ./luajit
perf list sdt 2>/dev/null | grep -o 'sdt_luajit:[a-z_]*' | sort -u
perf probe -q -x ./luajit sdt_luajit:function__entry
perf record -q -o perf.data -e sdt_luajit:function__entry ./luajit "$1"
perf probe -q -d 'sdt_luajit:*'
perf script -i perf.data -F event,trace >perf_record.script
PERF
try perf_record 240 bash /mnt/perf.sh "$programs/exact.lua"

try bpftrace_calls 400 env BPFTRACE_PERF_RB_PAGES=4096 bpftrace -o /mnt/bpftrace_calls.txt \
  -c "$probed $programs/exact.lua" "$root/probes/lua-calls.bt" "$probed"

[ ! -e stap.ko ] || try stap_calls $limit staprun -o /mnt/stap_calls.bin -c "$probed $programs/exact.lua" stap.ko
true
