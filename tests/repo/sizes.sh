#!/bin/bash
# SPDX-License-Identifier: MIT
# No function is longer than 60 lines, no class has more than 30 methods.
source "$(dirname "$0")/../lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
{ ctags --version 2>/dev/null || true; } | grep "Universal Ctags" >/dev/null || skip "universal-ctags is missing (scripts/deps --test)"

check() { python3 "$root/tests/repo/sizes.py" "$1" >"$scratch/found" 2>"$scratch/counts"; }
check "$root" || fail "$(cat "$scratch/found" "$scratch/counts")"
count() { sed -nE "s/.*\b$1=([0-9]+).*/\1/p" "$scratch/counts"; }
for minimum in c:4000 js:200 lua:300 py:200 sh:100 stp:40; do
  [ "$(count "${minimum%:*}")" -gt "${minimum#*:}" ] || fail "the search is broken: $(cat "$scratch/counts")"
done

# The search itself works: functions one line too long are found in each language, others are not.
mkdir -p "$scratch/toy/scripts"
cp "$root/scripts/files" "$scratch/toy/scripts/"
cd "$scratch/toy"
lines() { for ((i = 0; i < $1; i++)); do echo "$2"; done; }
both() { # FILE FIRST LINE LAST: a function of 60 lines called fits, one of 61 called large
  for pair in 58:fits 59:large; do
    echo "${2/NAME/${pair#*:}}"
    lines "${pair%:*}" "$3"
    echo "$4"
  done >"$1"
}
both c.c 'static int NAME(int x) {' '  x++;' '}'
both c.cc 'template <class T> T Outer<T>::NAME(T x) const {' '  x++;' '}'
both p.py 'def NAME(x):' '    x += 1' '    return x'
both s.sh 'NAME() {' '  true' '}'
both l.lua 'local function NAME(x)' '  x = 1' 'end'
both j.js 'export function NAME(x) {' '  x();' '}'
both m.mjs 'test("NAME", async (t) => {' '  t();' '});'
both a.awk 'function NAME(x) {' '  x++' '}'
both t.stp 'function NAME(x) {' '  x++' '}'
methods() { echo "class $1 { public: $1(); $1(const $1&) = delete;"; lines "$2" "int f(int x) const;"; echo "};"; }
{ methods Fits 30; methods Large 31; } >k.h
! check . || fail "nothing is found in a broken tree"
expected='c.c: large
c.cc: large
p.py: large
s.sh: large
l.lua: large
j.js: export function large(x)
m.mjs: test("large", async (t) =>
a.awk: function large(x)
t.stp: large'
same "what is found in a broken tree" "$(sort "$scratch/found")" "$(sort <<<"$(sed 's/$/ has 61 lines, more than 60/' <<<"$expected")
k.h: Large has 31 methods, more than 30")"
