#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The VM's side calls in one direction: the order is the list at the top of lj_ltlocal.h. The name
# of a function begins with that of its file, so the name of a call shows its target.
source "$(dirname "$0")/../lib.sh"
src=${LUATRACE_SOURCES:-$(cd "$(dirname "$0")/../.." && pwd)/luajit-usdt/src}

sed -n 's/^\*\*   \(lj_lt[a-z]*\)  .*/\1/p' "$src/lj_ltlocal.h" >"$scratch/order"
(cd "$src" && ls lj_lt*.c | sed 's/\.c$//' | sort) >"$scratch/files"
diff <(sort "$scratch/order") "$scratch/files" || fail "lj_ltlocal.h does not list the files that there are"

cat >"$scratch/check.awk" <<'END'
FNR == NR { place[$1] = ++n; next }
FNR == 1 { own = FILENAME; sub(/.*\//, "", own); sub(/\.c$/, "", own); comment = 0 }
{
  line = $0
  # Comments are removed; none of ours begins after code and ends on another line.
  if (comment) { if (!sub(/^.*\*\//, "", line)) next; comment = 0 }
  gsub(/\/\*[^*]*\*+([^\/*][^*]*\*+)*\//, "", line)
  if (sub(/\/\*.*/, "", line)) comment = 1
  text = line
  while (match(text, /lj_lt[a-z]+_[a-z0-9]+[(:]/)) {
    name = substr(text, RSTART, RLENGTH - 1)
    to = name
    sub(/_[a-z0-9]+$/, "", to)
    defined = RSTART > 1 && line ~ /^[A-Za-z_"]/ && line !~ /;[ \t]*$/ && substr(line, 1, 6) != "return"
    if (defined && to != own) print own ".c: " name " is defined there, and has the name of another file"
    if (!(to in place)) print own ".c: " name ": there is no file " to ".c"
    else if (place[to] > place[own]) print own ".c calls " name ", which stands after it in lj_ltlocal.h's list"
    if (to != own) calls++
    text = substr(text, RSTART + RLENGTH)
  }
}
END { if (calls < 100) print "only " calls " calls between files were seen: is the search broken?" }
END
check() { (cd "$1" && awk -f "$scratch/check.awk" "$scratch/order" lj_lt*.c); }
check "$src" >"$scratch/found"
[ ! -s "$scratch/found" ] || fail "$(cat "$scratch/found")"

# The search itself works: a call against the order, and a function with a wrong name, are found.
cp -r "$src" "$scratch/broken"
printf 'static void wrong(lua_State *L)\n{\n  lj_ltrace_end(L, NULL);\n}\nvoid lj_ltopen_wrong(void)\n{\n}\n' >>"$scratch/broken/lj_ltring.c"
same "what is found in a broken copy" "$(check "$scratch/broken" | wc -l)" 3
