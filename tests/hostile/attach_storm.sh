#!/bin/bash
# SPDX-License-Identifier: MIT
#
# attach_storm.sh BUILD PROGRAM direct|bpf LUAJIT      LUAJIT: its folder in BUILD/luajit
#
# A program of tests/storm (programs/NAME, unusual/NAME) runs while recorders attach and detach:
# each for some tens of milliseconds, ended by -d, by SIGINT or by SIGKILL, at a moment drawn from a
# fixed seed, sometimes two at once. The program must print the same as untraced and end normally,
# each file must be readable, and afterwards a normal recording must succeed.
source "$(dirname "$0")/../attach/lib.sh"
program=$here/../storm/$2.lua via=$3
luajit=$build/luajit/$4/luajit
[ -x "$luajit" ] || skip "there is no $luajit"
turns=24
case $via in
  bpf)
    [ "$(id -u)" = 0 ] || skip "recording through the kernel needs root"
    message=$("$bin/luatrace-record" --via bpf -o /dev/null -- true 2>&1) ||
      case $message in *"cannot be used"* | *"not built"*) skip "$message" ;; esac
    ;;
esac
RANDOM=13  # the same storm each time, as far as the machine allows

begin "$luajit" "$here/../hostile/attach_storm.lua" "$program" "$scratch"
ready
taken=0
# A machine may be so busy that few recorders live until their first event: then there are more turns.
for ((turn = 0; turn < turns || (taken < 4 && turn < 10 * turns); turn++)); do
  file=$scratch/storm.$turn.bin
  options=(--via "$via" --ring-size 1M -p "$target")
  [ $((RANDOM % 3)) != 0 ] || options+=(--children)
  # Events and segments, one after the other, in the same code.
  [ "$via" = bpf ] || [ $((RANDOM % 2)) != 0 ] || options+=(--times events)
  pause=0.$(printf %03d $((1 + RANDOM % 250)))  # 0 would mean no limit
  case $((RANDOM % 4)) in
    0) "$bin/luatrace-record" -o "$file" "${options[@]}" -d "$pause" 2>>"$scratch/storm.err" || true ;;
    1) timeout -s INT "$pause" "$bin/luatrace-record" -o "$file" "${options[@]}" 2>>"$scratch/storm.err" || true ;;
    2) timeout -s KILL "$pause" "$bin/luatrace-record" -o "$file" "${options[@]}" 2>>"$scratch/storm.err" || true ;;
    3)
      timeout -s KILL "$pause" "$bin/luatrace-record" -o "$file.2" "${options[@]}" 2>>"$scratch/storm.err" &
      other=$!
      "$bin/luatrace-record" -o "$file" "${options[@]}" -d "$pause" 2>>"$scratch/storm.err" || true
      wait "$other" || true
      ;;
  esac
  kill -0 "$target" 2>/dev/null || break
  for f in "$file" "$file.2"; do
    [ -s "$f" ] || continue
    "$bin/luatrace-analyze" --json "$f" >"$scratch/json" 2>"$scratch/json.err" || {
      cat "$scratch/json.err" >&2
      [ "$(stat -c %s "$f")" -lt 4096 ] || fail "$f cannot be read (turn $turn)"
      continue
    }
    taken=$((taken + 1))
    [ "$(jq .trust.unbalanced "$scratch/json")" = 0 ] || {
      "$bin/luatrace-analyze" --dump=calls "$f" >"$scratch/calls" || true
      head -n 40 "$scratch/calls"
      grep -n -B 60 -A 5 ' D0 \(return\|tail\) ' "$scratch/calls" | head -n 200 || true
      fail "turn $turn: $("$bin/luatrace-analyze" "$f" | tail -n 3)"
    }
    rm -f "$f"
  done
done
if kill -0 "$target" 2>/dev/null; then
  # The last recorder may have been killed: the next one is refused until its claim has ended.
  finished=
  for ((try = 0; try < 40; try++)); do
    if "$bin/luatrace-record" --via "$via" -o "$scratch/last.bin" -p "$target" -d 0.3 2>"$scratch/last.err"; then
      finished=1
      break
    fi
    sleep 0.25
  done
  [ -n "$finished" ] || fail "no recording after the storm: $(cat "$scratch/last.err")"
fi
touch "$scratch/end"
ended
grep -q ' rounds$' "$scratch/target.out" || fail "the program printed: $(cat "$scratch/target.out")"
[ "$taken" -ge 4 ] || fail "only $taken of $turn recordings left a file: $(tail -n 3 "$scratch/storm.err")"
echo "$(cat "$scratch/target.out"), $taken files"
