#!/bin/bash
# SPDX-License-Identifier: MIT
# Includes and the libraries that targets link to go in one direction, by the order in
# tests/repo/order: no cycle between files, folders or targets, and no edge against the order.
source "$(dirname "$0")/../lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)

check() { python3 "$root/tests/repo/directions.py" "$1" "$1/tests/repo/order" >"$scratch/found" 2>"$scratch/counts"; }
check "$root" || fail "$(cat "$scratch/found" "$scratch/counts")"
read -r includes _ folders _ targets _ <"$scratch/counts"
[ "$includes" -gt 800 ] && [ "$folders" -gt 20 ] && [ "$targets" -gt 40 ] || fail "the search is broken: $(cat "$scratch/counts")"

# The search itself works: each kind of mistake is found in a small tree that has them all.
toy=$scratch/toy
mkdir -p "$toy"/{scripts,tests/repo,low,side/a,side/b,high,new}
cp "$root/scripts/files" "$toy/scripts/"
printf '[shared]\nlow\nstale\n[left: shared]\nside/a\n[right: shared]\nside/b\nhigh\n' >"$toy/tests/repo/order"
echo '#include "low/b.h"' >"$toy/low/a.h"
echo '#include "a.h"' >"$toy/low/b.h"
echo '#include <high/up.h>' >"$toy/low/c.cc"
echo '#include "side/b/x.h"' >"$toy/side/a/y.cc"
echo '#include "low/a.h"' | tee "$toy/side/b/x.h" "$toy/new/n.h" >"$toy/high/up.h"
echo '#include "up.h"' >"$toy/side/b/lost.cc"
echo 'import { x } from "./two.js";' >"$toy/low/one.js"
echo 'import { y } from "./one.js";' >"$toy/low/two.js"
cat >"$toy/CMakeLists.txt" <<'END_OF_CMAKE'
add_library(below STATIC low/c.cc)
add_library(above STATIC side/b/lost.cc)
target_link_libraries(below PUBLIC above)
target_link_libraries(above PRIVATE below)
END_OF_CMAKE
! check "$toy" || fail "nothing is found in a broken tree"
same "what is found in a broken tree" "$(sort "$scratch/found")" "$(sort <<'END_OF_LIST'
side/b/lost.cc: up.h is not found, but a file of the project has this name
files include each other: low/a.h -> low/b.h -> low/a.h
files include each other: low/one.js -> low/two.js -> low/one.js
low/c.cc includes high/up.h: [shared] does not see [right]
side/a/y.cc includes side/b/x.h: [left] does not see [right]
new/n.h includes low/a.h: new is not in the order
folders include each other: high -> low -> high
below links to above: [shared] does not see [right]
targets link to each other: below -> above -> below
the order names stale, which does not exist
END_OF_LIST
)"
