#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The patches stay small and explained: up to 200 changed lines of upstream's in all for each
# flavour, 25 of them in its quirks; each patch says why it is needed, the common ones their
# upstream status; none touches a .dasc file.
source "$(dirname "$0")/../lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
patches=$root/luajit-usdt/patches
shopt -s nullglob

# Changed lines, as a reviewer counts them: an exchanged line is one that goes and one that comes.
# Not counted: Makefile.dep, which a tool of upstream's writes, empty lines and whole comments.
changed() {
  awk '
    FNR == 1 { file = "" }
    /^--- a\// { file = $2; next }
    /^\+\+\+ b\// { next }
    file != "" && file != "a/src/Makefile.dep" && /^[-+]/ {
      line = substr($0, 2)
      if (line ~ /^[ \t]*$/ || line ~ /^[ \t]*(\/\*.*\*\/|# .*)$/) next
      n++
    }
    END { print n + 0 }' "$@"
}

series=()
while read -r name; do series+=("$patches/$name"); done < <(sed -e 's/[ \t]*#.*//' -e '/^$/d' "$patches/series")
[ "${#series[@]}" -ge 5 ] || fail "only ${#series[@]} patches in the series"
same "patches and the series" "$(ls "$patches"/*.patch | tr '\n' ' ')" "$(printf '%s\n' "${series[@]}" | sort | tr '\n' ' ')"

for file in "${series[@]}" "$patches"/quirks/*.patch; do
  name=${file#"$patches"/}
  sed '/^--- a\//,$d' "$file" >"$scratch/head"
  [ "$(wc -w <"$scratch/head")" -ge 25 ] || fail "$name does not say why it is needed"
  case $name in quirks/*) ;; *) grep -q '^Upstream: ' "$scratch/head" || fail "$name has no upstream status" ;; esac
  ! grep -qE '^\+\+\+ .*\.dasc' "$file" || fail "$name touches the interpreter's assembler"
done

quirks=("$patches"/quirks/*.patch)
# Those that are no flavours are named by apply: for a version, or as alternatives.
known=$(awk '/^[a-z]/ { print $1 }' "$root/luajit-usdt/flavours.conf"
  sed -n '/^detect()/,/^}/p; /^alternatives()/,/^}/p' "$root/luajit-usdt/scripts/apply" |
    grep -oE 'echo (openresty|luajit2?)-[0-9][^;|]*' | sed 's/^echo //; s/ *$//' | tr ' ' '\n')
same "flavours and quirks" "$(echo "$known" | sort -u | tr '\n' ' ')" \
  "$(printf '%s\n' "${quirks[@]##*/}" | sed 's/\.patch$//' | sort | tr '\n' ' ')"
for file in "${quirks[@]}"; do
  own=$(changed "$file") all=$(changed "${series[@]}" "$file")
  echo "$(basename "$file" .patch): $all changed lines, $own of them its own"
  [ "$all" -ge 80 ] || fail "hardly any lines counted: is the counting broken?"
  [ "$all" -le 200 ] || fail "more than 200 changed lines of upstream's"
  [ "$own" -le 25 ] || fail "more than 25 changed lines in $file"
done
