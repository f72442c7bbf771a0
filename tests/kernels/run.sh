#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Records under kernels of Debian in every way, each kernel in the emulated machine of the tests of stap. On demand: a kernel
# takes some minutes and 100 to 500 MB below BUILD.
#
#   tests/kernels/run.sh BUILD [VERSION...]      all in tests/kernels/kernels, or these
#   KERNEL_TEST_CELLS="bpf perf" ...             only these methods
#   KERNEL_TEST_SHARE=FOLDER ...                 keeps what the guests wrote, to look at it
#   KERNEL_TEST_SHARE=FOLDER KERNEL_TEST_JUDGE=1 ...    judges that again, without a guest
#
# Prints the table of docs/kernels.md: what guest.sh does, by method and kernel. "exact" means that the calls are those of a
# direct recording on this machine, one by one, or as many as the program says; nothing is lost. Otherwise the status
# and the message, or what differs. It fails only if there is no guest: what a kernel should do is for the reader to say.
build=$(readlink -f "$1")
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
. "$here/../stap/host_lib.sh"
shift
versions=("$@")
[ ${#versions[@]} -gt 0 ] || mapfile -t versions < <(awk '/^[0-9]/ { print $1 }' "$here/kernels")
methods=${KERNEL_TEST_CELLS:-direct bpf auto sample offcpu perf bpftrace stap}
export STAP_TEST_SECONDS=${STAP_TEST_SECONDS:-1800}

# -- Judging ------------------------------------------------------------------

analyze() { "$build/bin/luatrace-analyze" -q "$@" 2>"$scratch/analyze.err"; }

# The calls of exact.lua in a trace, without those around it, and without what depends on the moment.
section() {
  analyze --dump=calls "$1" | grep -vE ' (start|collect|abandon|thread) |C:\[|C:file:__gc' | awk '
    / entry exact.lua:0$/ { on = 1; main = $2; base = substr($3, 2) }
    on { $1 = ""; if ($2 == main) $3 = "D" substr($3, 2) - base; print }
    / return exact.lua:0$/ { on = 0 }'
}
message() { # NAME: the one that matters, without the program's name
  grep -hE 'error|cannot|refused|Error|ERROR|failed|invalid|luatrace-|ended' "$share/$1.err" | grep -v 'is being recorded' |
    sed -E -e 's/^luatrace-[a-z]*: //' -e "s#$share/##g" -e 's/^process [0-9]+/process/' | head -n 1 | cut -c 1-300
}
status_of() { cat "$share/$1.status" 2>/dev/null || echo "not reached"; }

exact() { # NAME FILE
  [ "$(status_of "$1")" = 0 ] || { echo "status $(status_of "$1"): $(message "$1")"; return; }
  section "$share/$2" >"$scratch/section" || true
  if cmp -s "$scratch/expected" "$scratch/section"; then
    echo "exact"
  else
    echo "differs: $(wc -l <"$scratch/section") events of $(wc -l <"$scratch/expected"): $(diff "$scratch/expected" "$scratch/section" | sed -n 2p) $(head -n 1 "$scratch/analyze.err")"
  fi
}
# The program's status is not judged: it has been killed, or not.
ended() { # NAME
  analyze --json "$share/$1.bin" >"$scratch/json" || { echo "status $(status_of "$1"): $(message "$1")"; return; }
  jq -r '([.functions[] | select(.name == "one").calls] | add // 0) as $n |
    if $n == 1000 and .trust.lost == 0 then "exact" else "\($n) of 1000 calls, \(.trust.lost) lost\(if .trust.lost_at_least then " at least" else "" end)" end' "$scratch/json"
}
detached() { # NAME
  [ "$(status_of "$1")" = 0 ] || { echo "status $(status_of "$1"): $(message "$1")"; return; }
  local words=$share/$1.words
  [ "$(cat "$share/$1.stayed")" = 0 ] || { echo "the program ended with $(cat "$share/$1.stayed")"; return; }
  [ "$(tail -n 1 "$words")" = 0 ] || { echo "left on: $(tail -n 1 "$words")"; return; }
  grep -qvx 0 "$words" || { echo "never on"; return; }
  analyze --json "$share/$1.bin" | jq -r '([.functions[] | select(.name == "look").calls] | add // 0) as $n |
    if $n > 0 and .trust.lost == 0 and .trust.anomalies == 0 then "exact" else "\($n) calls, \(.trust.lost) lost, \(.trust.anomalies) anomalies" end'
}
shares() { # NAME
  [ "$(status_of "$1")" = 0 ] || { echo "status $(status_of "$1"): $(message "$1")"; return; }
  python3 "$here/../sample/samples.py" "$share/$1.bin" >"$scratch/samples" 2>/dev/null
  python3 "$here/../sample/shares.py" "$scratch/samples" "$(tail -n 1 "$share/$1.out")" >"$scratch/shares" 2>&1 &&
    echo "right" || echo "wrong: $(head -n 1 "$scratch/shares")"
}
waits() { # NAME
  [ "$(status_of "$1")" = 0 ] || { echo "status $(status_of "$1"): $(message "$1")"; return; }
  analyze --report --limit 0 --json "$share/$1.bin" >"$scratch/json"
  of() { jq --arg name "$1" "[.functions[] | select(.kind == \"lua\" and .name == \$name).$2] | add // 0" "$scratch/json"; }
  awk -v long="$(of long inclusive_ns)" -v short="$(of short inclusive_ns)" -v busy="$(of busy samples)" -v said="$(tail -n 1 "$share/$1.out")" 'BEGIN {
    split(said, true); sum = (long + short) / 1e9 / (true[1] + true[2])
    if (busy == 0 && long > short && sum > 0.7 && sum < 1.1) print "right"
    else printf "wrong: %.2f of the time, %d samples of the busy loop\n", sum, busy }'
}
table() { # NAME
  [ "$(status_of "$1")" = 0 ] || { echo "status $(status_of "$1"): $(message "$1")"; return; }
  grep -E ' work  \(|:work| work$' "$share/$1.out" >/dev/null && echo "right" || echo "no row of work"
}
perf() { # NAME
  [ "$(status_of "$1")" = 0 ] || { echo "status $(status_of "$1"): $(message "$1")"; return; }
  local seen
  seen=$(grep -c function__entry "$share/$1.script") || true
  [ "$seen" = "$entries" ] && echo "exact" || echo "$seen of $entries entries"
}

judge() { # CELL
  case $1 in
    bpftrace_*) exact "$1" "$1.txt" ;;
    *_kill | *_exit | *_exec) ended "$1" ;;
    *_detach) detached "$1" ;;
    *_top) table "$1" ;;
    sample_*) shares "$1" ;;
    offcpu_*) waits "$1" ;;
    perf_*) perf "$1" ;;
    stap_*) [ ! -s "$share/stap.err" ] && exact "$1" "$1.bin" || echo "not compiled: $(head -n 1 "$share/stap.err")" ;;
    *) exact "$1" "$1.bin" ;;
  esac
}

# -- Running ------------------------------------------------------------------

# stap's module for that kernel. Headers have paths of an installed package in them, so they are put there, in a mount
# namespace of our own.
compile() {
  local tree=$LUATRACE_GUEST_CACHE/$release
  [ -d "$tree/usr/src/linux-headers-$release" ] || { echo "no headers of $release" >"$share/stap.err"; return; }
  wait_for timeout 600 unshare -m --propagation private bash -c '
    for dir in src lib; do mount -t overlay -o "lowerdir=$1/usr/$dir:/usr/$dir" overlay "/usr/$dir" || exit; done
    cd "$2" && "$3" lua-calls -r "$4" -p4 -m stap -DSTP_NO_OVERLOAD -B CC=gcc "$5"' _ \
    "$tree" "$share" "$root/stap/luatrace-stap" "/usr/src/linux-headers-$release" "$stripped/luajit" >"$share/stap.log" 2>&1 ||
    { grep -m 1 -E 'error|ERROR' "$share/stap.log" || tail -n 1 "$share/stap.log"; } >"$share/stap.err"
}

run() { # VERSION
  local fetched
  fetched=$("$here/fetch" "$1" "$LUATRACE_GUEST_CACHE") || skip "no kernel $1"
  share=${KERNEL_TEST_SHARE:-$scratch/share}/$1
  release=$fetched
  [ -z "${KERNEL_TEST_JUDGE-}" ] || return 0
  rm -rf "$share"
  STAP_TEST_SHARE=$share prepare_guest --release "$fetched" --memory 2048
  for program in luatrace-record luatrace-top; do
    [ "$stripped/$program" -nt "$build/bin/$program" ] || strip -o "$stripped/$program" "$build/bin/$program"
  done
  [[ $methods != *stap* ]] || compile
  guest_variables="root='$root' kernels='$here' sample='$here/../sample' wanted='$methods'"
  (in_guest "$here/guest.sh") || echo "$1: the guest did not come to its end" >&2
}

"$build/bin/luatrace-record" -q -o "$scratch/exact.bin" -- "$build/bin/luajit" "$stap_tests/programs/exact.lua" || fail "cannot record here"
section "$scratch/exact.bin" >"$scratch/expected"
entries=$(grep -c ' entry exact.lua' "$scratch/expected")
cells=()
for cell in direct_{start,attach,detach,kill} bpf_{start,each,multi,detach,exit,kill,exec} auto_{attach,top} sample_{start,top} \
  offcpu_start perf_record bpftrace_calls stap_calls; do
  [[ " $methods " != *" ${cell%%_*} "* ]] || cells+=("$cell")
done
header="| |" rule="|---|"
declare -A rows
for version in "${versions[@]}"; do
  run "$version"
  header+=" $release |" rule+="---|"
  for cell in "${cells[@]}"; do rows[$cell]+=" $(judge "$cell") |"; done
done
printf '%s\n' "$header" "$rule"
for cell in "${cells[@]}"; do echo "| ${cell/_/ } |${rows[$cell]}"; done
