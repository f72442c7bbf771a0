#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What is printed of a value cannot be taken for something else: a string with quotes is still one
# value, a key with other characters is quoted. Numbers have a point, and are compared as numbers,
# whatever the program's locale has there.
source "$(dirname "$0")/lib.sh"
program=texts.lua

# texts OUTPUT: the same in each locale, with what the program prints.
texts() {
  watch --watch take --print args --when 'x > 2.2 and x < 3.5' -- "$luajit" "$program"
  same "what the program prints" "$(printed)" "$1"
  same "hits ($1)" "$(values | wc -l)" 2
  values | sed -n 1p >"$scratch/first"
  for part in ' x=2.25 text="a\x22 admin=true b=\x22" t={' '["k=1, admin"]=true' 'plain=1e+100' '["9lives"]="\x22"'; do
    grep -qF -- "$part" "$scratch/first" || fail "no '$part' ($1) in: $(cat "$scratch/first")"
  done
}
texts point
localedef -c -i de_DE -f ISO-8859-1 "$scratch/comma" >"$scratch/localedef" 2>&1 || skip "no locale with a comma can be made here: $(tail -1 "$scratch/localedef")"
COMMA=1 LOCPATH=$scratch texts comma
