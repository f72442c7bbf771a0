#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What --watch refuses, and what it says of places that cannot be reached.
source "$(dirname "$0")/lib.sh"
record=$bin/luatrace-record
none=("$luajit" -e "")
refuses 'needs --watch' "$record" --print args -- "${none[@]}"
refuses 'needs --watch' "$record" --when 'a == 1' -o "$scratch/t" -- "${none[@]}"
refuses 'position 6: a value is missing' "$record" --watch f --when 'n == ' -- "${none[@]}"
refuses 'position 3: unknown operator' "$record" --watch f --when 'n = 5' -- "${none[@]}"
refuses 'position 8: unexpected' "$record" --watch f --when 'n == 5 n' -- "${none[@]}"
refuses "position 7: expected '\)'" "$record" --watch f --when '(n > 5' -- "${none[@]}"
refuses 'position 6: the string does not end' "$record" --watch f --when 'n == "x' -- "${none[@]}"
refuses 'position 1: not a number' "$record" --watch f --when '5x == n' -- "${none[@]}"
refuses 'position 5: expected a name' "$record" --watch f --when 'n ==and' -- "${none[@]}"
refuses 'the condition is too long|too deep|too many' "$record" --watch f --when "$(printf 'n > 1 and %.0s' {1..50})n" -- "${none[@]}"
refuses 'the condition is too deep' "$record" --watch f --when "$(printf '(%.0s' {1..5000})" -- "${none[@]}"
refuses "invalid value 'a b'; choose args" "$record" --watch f --print 'args,a b' -- "${none[@]}"
refuses "invalid value ''; choose args" "$record" --watch f --print 'args,' -- "${none[@]}"
refuses "invalid value 'a\.\.b'; choose args" "$record" --watch f --print 'a..b' -- "${none[@]}"
refuses "'0' is not a line number" "$record" --watch app.lua:0 -- "${none[@]}"
refuses "'99999999999' is not a line number" "$record" --watch app.lua:99999999999 -- "${none[@]}"
refuses 'the file is missing' "$record" --watch :12 -- "${none[@]}"
refuses 'needs a value' "$record" --watch= -- "${none[@]}"
refuses "'0' is not a number between 1" "$record" --watch f --count 0 -- "${none[@]}"
refuses "'9' is not a number between 0 and 8" "$record" --watch f --print-depth 9 -- "${none[@]}"
refuses 'not possible with --via bpf' "$record" --watch f --via bpf -- "${none[@]}"
refuses 'excludes --stack' "$record" --watch f --stack -p $$
refuses 'flight needs -o FILE' "$record" --watch f --flight 1M -- "${none[@]}"
refuses 'too long together' "$record" --watch "$(printf 'f%.0s' {1..1020})" -- "${none[@]}"
refuses 'more than 16 places' "$record" $(printf -- '--watch f%s ' {1..17}) -- "${none[@]}"

# Lines without code, files and functions that do not exist.
program=lines.lua
watch --watch lines.lua:10 --watch lines.lua:9999 --watch nowhere.lua:1 --watch nofunction -- "$luajit" "$program"
for message in 'lines.lua:10: no code on this line; the nearest with code: 9 and 11' \
  'lines.lua:9999: no code on this line; the nearest with code: 29' \
  'nowhere.lua:1: no function that has this line was called' 'nofunction: no Lua function of this name was called'; do
  grep -qF -- "--watch $message" "$scratch/record.err" || fail "no message '$message' but: $(cat "$scratch/record.err")"
done
same "values" "$(values)" ""

# Found without a hit: a condition that is never true, a function that runs already.
watch --watch lines.lua:6 --when 'n == "no"' -- "$luajit" "$program"
grep -qF -- '--watch lines.lua:6: found, but there was no hit' "$scratch/record.err" || fail "no hit: $(cat "$scratch/record.err")"

# A name as the source has it: what would match.
echo 'local M = {} function M.foo() end function M:bar() end M.foo() M:bar()' >"$scratch/names.lua"
watch --watch M.foo --watch M:bar --watch app.lua --watch foo --watch 'M.f*' -- "$luajit" "$scratch/names.lua"
for name in M.foo M:bar; do
  grep -qF -- "--watch $name: no Lua function of this name was called (a function that is defined as $name may be known as ${name#M?}; FILE:LINE" \
    "$scratch/record.err" || fail "no advice for $name: $(cat "$scratch/record.err")"
done
same "advice" "$(grep -c 'may be known' "$scratch/record.err")" 2
"$record" -q --watch nofunction --print n -- "$luajit" "$program" >/dev/null 2>"$scratch/record.err"
grep -qF 'nofunction: no Lua function of this name was called' "$scratch/record.err" || fail "-q hides it: $(cat "$scratch/record.err")"
"$record" -q --watch lines.lua:10 --print locals -- "$luajit" "$program" >/dev/null 2>"$scratch/record.err"
grep -q 'lines.lua:10: no code on this line' "$scratch/record.err" || fail "-q hides a line without code: $(cat "$scratch/record.err")"

# More places than can be watched: told, and nothing else happens.
{
  echo 'local n = 0'
  for i in {1..300}; do echo "do local function f() return n end n = n + f() end"; done
  echo 'print(n)'
} >"$scratch/many.lua"
plain=$("$luajit" "$scratch/many.lua")
watch --watch f --print n -- "$luajit" "$scratch/many.lua"
same "what the program prints" "$(printed)" "$plain"
same "hits" "$(values | wc -l)" 256
grep -q 'f: more than 256 instructions to watch' "$scratch/record.err" || fail "messages: $(cat "$scratch/record.err")"

# Nobody reads the values: the program goes on, the recorder ends the recording in time.
status=0
"$record" --watch work --print args -- "$luajit" "$program" 2>"$scratch/record.err" | head -1 >"$scratch/one" || status=$?
[ -s "$scratch/one" ] || fail "no first value: $(cat "$scratch/record.err")"
# Whoever reads gets all, however fast they come: what waits has space (the ring, too).
echo 'local function work(n) return n + 1 end for i = 1, 200000 do work(i) end' >"$scratch/many.lua"
many=(--ring-size 64M --watch work --print n -- "$luajit" "$scratch/many.lua")
"$record" "${many[@]}" 2>"$scratch/record.err" | cat >"$scratch/all"
same "lines" "$(grep -c ' work: n=' "$scratch/all")" 200000
same "messages" "$(cat "$scratch/record.err")" ""
# Nobody reads, but the pipe is open: each line is either in the pipe or counted as missing.
mkfifo "$scratch/fifo"
exec 7<>"$scratch/fifo"
"$record" "${many[@]}" 2>"$scratch/record.err" >"$scratch/fifo"
echo end >&7 &
sed '/^end$/q' <&7 >"$scratch/some"
missing=$(sed -n 's/,//g; s/.*--watch: \([0-9]*\) lines were not printed: standard output takes them too slowly.*/\1/p' "$scratch/record.err")
same "lines and missing ones" "$(($(grep -c ' work: n=' "$scratch/some") + ${missing:-0}))" 200000
exec 7>&-

# Standard output is the trace's: the values go elsewhere.
"$record" --watch work --print args -o - -- "$luajit" "$program" 2>"$scratch/values" >"$scratch/trace.bin"
same "values on standard error" "$(grep -c ' work: n=20' "$scratch/values")" 300
same "hits in that trace" "$("$bin/luatrace-analyze" --dump "$scratch/trace.bin" | grep -c ' watch 1 hit ')" 300

# What cannot be written is said, and the status is that of a trace that cannot be.
status=0
"$bin/luatrace-record" --watch charge --print amount -- "$luajit" entry.lua >/dev/full 2>"$scratch/full.err" || status=$?
same "status with a full disk" "$status" 125
grep -q 'standard output: No space left on device; lines are missing' "$scratch/full.err" || fail "a full disk: $(cat "$scratch/full.err")"

# A line on which one function has no code, but another has.
printf 'local function f()\n  return 1\nend\nf()\n' >"$scratch/both.lua"
watch --watch both.lua:3 -- "$luajit" "$scratch/both.lua"
grep -q 'no code on this line' "$scratch/record.err" && fail "no code where there is: $(cat "$scratch/record.err")"
same "hits" "$(values | wc -l)" 1
