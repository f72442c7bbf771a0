#!/bin/bash
# SPDX-License-Identifier: MIT
#
# --times: the calls are the same in each mode; compiled code has segments, if that is asked for or,
# with auto, if its events would take longer than itself.
#
#   times.sh BUILD
source "$(dirname "$0")/lib.sh"
[ "$(uname -m)" = x86_64 ] || skip "segments are recorded on x86-64 only"

# How many of the 40,000 events of the two functions are events of their own: "none", "half" or "all".
own_events() {
  local n
  n=$("$bin/luatrace-analyze" --dump "$1" | awk '
    $1 == "func" && / name="dense"| chunk="=sparse"/ { sub(/.*:/, "", $2); ours[$2] = 1 }
    $3 == "entry" && $4 in ours { n++ } END { print n + 0 }')
  if [ "$n" -lt 2000 ]; then echo none
  elif [ "$n" -lt 22000 ]; then echo half
  else echo all
  fi
}
counted() { json "$1" | jq -c '[.functions[] | select(.name == "dense" or .chunk == "=sparse") | .calls] | sort'; }
check() {
  "$bin/luatrace-analyze" --dump "$scratch/trace.bin" | grep '^clock tsc' >/dev/null || skip "segments need the clock TSC"
  same "calls ($1)" "$(counted "$scratch/trace.bin")" "[20000,20000]"
  same "their events ($1)" "$(own_events "$scratch/trace.bin")" "$2"
  no_anomalies "$scratch/trace.bin"
  # The recorder counts the events for which segments stand.
  same "events ($1)" "$(sed -n 's/.*trace.bin: \([0-9,]*\) events.*/\1/p' "$scratch/record.err" | tr -d ,)" "$(json "$scratch/trace.bin" | jq .trust.events)"
  # What a user who has not asked for segments reads.
  if [ "$2" = all ]; then ! logged 'in segments' || fail "a message about segments ($1)"
  else logged 'of the events are in segments of compiled code' || fail "no message about segments ($1)"
  fi
}

in_all_modes() { # of recording: VIA
  local -r method=$1
  while IFS=: read -r times expected; do
    touch "$scratch/go" "$scratch/end"
    # shellcheck disable=SC2086 # an option or none
    "$bin/luatrace-record" --force -o "$scratch/trace.bin" --via "$method" $times -- \
      "$bin/luajit" "$here/gate.lua" "$scratch" "$here/times.lua" 2>"$scratch/record.err"
    check "$times, of a command, $method" "$expected"
    gate "$bin/luajit" "$here/gate.lua" "$scratch" "$here/times.lua"
    ready
    # shellcheck disable=SC2086
    record --force --via "$method" $times -p $target
    attached() { logged 'is being recorded|attached through BPF'; }
    within 20 "the recorder to attach ($method)" attached
    [ "$method" = bpf ] || recording
    open_gate
    touch "$scratch/end"
    ended
    finish 0
    check "$times, attached, $method" "$expected"
  done <<'END'
--times events:all
--times auto:half
--times segments:none
:half
END
}
in_all_modes direct
! has_bpf || in_all_modes bpf

# What reads single events has them by default, and excludes segments.
for options in "--max-depth 100" "--flight 16M" --cpu; do
  rm -f "$scratch/trace.bin"
  # shellcheck disable=SC2086 # words
  "$bin/luatrace-record" -q $options -o "$scratch/trace.bin" -- "$bin/luajit" "$here/gate.lua" "$scratch" "$here/times.lua"
  same "events ($options)" "$(own_events "$scratch/trace.bin")" all
done
for options in "--max-depth 100" "--flight 16M" --cpu "--only-slow dense=1ms"; do
  for times in auto segments; do
    # shellcheck disable=SC2086 # words
    refuses "--times $times and ${options%% [0-9d]*} exclude each other" "$bin/luatrace-record" $options --times $times -o "$scratch/x.bin" -- true
  done
done
for filter in "--include x" "--exclude x" "--c-functions none"; do
  # shellcheck disable=SC2086 # words
  refuses "--times auto and --via bpf with ${filter% x} exclude each other" "$bin/luatrace-record" --via bpf $filter --times auto -o "$scratch/x.bin" -- true
done
"$bin/luatrace-record" -q -o - -- "$bin/luajit" "$here/gate.lua" "$scratch" "$here/times.lua" >"$scratch/trace.bin"
same "events (-o -)" "$(own_events "$scratch/trace.bin")" all

# Of the words of links about one in 64 has a time at least (in irregular distances of up to 96), also if each has iterations before
# its last place.
rm -f "$scratch/trace.bin"
"$bin/luatrace-record" -q --block --times segments -o "$scratch/trace.bin" -- "$bin/luajit" "$here/links.lua"
longest=$("$bin/luatrace-analyze" --dump "$scratch/trace.bin" | awk '
  $3 == "packed" && ++run > most { most = run }
  $3 == "segment" { run = 0 }
  END { print most + 0 }')
[ "$longest" -gt 8 ] && [ "$longest" -le 104 ] || fail "$longest words of links follow each other without a time"

# A loop without calls has a time before it and one after it.
rm -f "$scratch/trace.bin"
"$bin/luatrace-record" -q --block --times segments -o "$scratch/trace.bin" -- "$bin/luajit" "$here/loops.lua"
read -r links untimed < <("$bin/luatrace-analyze" --dump "$scratch/trace.bin" | awk '
  $3 == "segment" { links++; if ($1 == last) untimed++ }
  $3 == "packed" { links++; untimed++ }
  { last = $1 }
  END { print links + 0, untimed + 0 }')
[ "$links" -gt 9000 ] && [ "$untimed" -lt 500 ] || fail "$untimed of $links words around a loop have no time"
