#!/bin/bash
# SPDX-License-Identifier: MIT
# The last lines of scripts/test: which tests count as passed, failed and skipped, what the failed ones
# printed, and which took longest.
source "$(dirname "$0")/../lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)

cat >"$scratch/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.20)
project(toy NONE)
enable_testing()
add_test(NAME good COMMAND true)
add_test(NAME bad COMMAND sh -c "echo 'SKIP: not a reason'; seq 30; echo '<a&b>'; exit 1")
add_test(NAME script COMMAND sh -c "echo 'SKIP: no such thing'; exit 77")
add_test(NAME google COMMAND sh -c "printf 'x_test.cc:3: Skipped\nno kernel\n\n[  SKIPPED ] x\n'")
add_test(NAME gone COMMAND /nonexistent/program)
set_tests_properties(script google PROPERTIES SKIP_RETURN_CODE 77 SKIP_REGULAR_EXPRESSION "SKIPPED")
END
mkdir "$scratch/build"
(cd "$scratch/build" && cmake .. >/dev/null && ctest --output-junit results.xml >/dev/null 2>&1) || true
status=0
awk -f "$root/scripts/summary.awk" "$scratch/build/results.xml" >"$scratch/summary" || status=$?
same statuses "$status" 1
same summaries "$(sed '/^  1[0-9]$/d; /^  2.$/d' "$scratch/summary")" "FAILED bad:
  30
  <a&b>
FAILED gone:
  Unable to find executable: /nonexistent/program
SKIPPED script: no such thing
SKIPPED google: no kernel
1 passed, 2 failed, 2 skipped"

sed '/name="bad"/,/<\/testcase>/d; /name="gone"/,/<\/testcase>/d' "$scratch/build/results.xml" >"$scratch/better.xml"
awk -f "$root/scripts/summary.awk" "$scratch/better.xml" >"$scratch/summary" || fail "status of a good run"
same "last lines" "$(tail -n 1 "$scratch/summary")" "1 passed, 0 failed, 2 skipped"

awk '/<testcase/ { sub(/ time="[^"]*"/, " time=\"" ++n*8 "\"") } { print }' "$scratch/better.xml" >"$scratch/slow.xml"
same "the longest" "$(awk -f "$root/scripts/summary.awk" "$scratch/slow.xml" | grep ' s  ')" "    24 s  google
    16 s  script"
