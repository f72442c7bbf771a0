#!/bin/bash
# SPDX-License-Identifier: MIT
# A GoogleTest program must not be one test of ctest's, or cases that skip themselves would count as
# passed. Every such test names one case and knows what a skipped one looks like, or it is
# conformance_test, whose status says that cases were skipped.
#   cases.sh BUILD_FOLDER CTEST
source "$(dirname "$0")/../lib.sh"

"$2" --test-dir "$1" --show-only=json-v1 >"$scratch/tests.json"
jq -r '.tests[] | select(.command) | [.name, .command[0],
    ([.command[] | select(startswith("--gtest_filter="))][0] // "-"),
    ([.properties[] | select(.name == "SKIP_REGULAR_EXPRESSION")] | length | tostring),
    ([.properties[] | select(.name == "SKIP_RETURN_CODE") | .value][0] // "-" | tostring)] | @tsv' \
  "$scratch/tests.json" >"$scratch/tests"
[ "$(wc -l <"$scratch/tests")" -gt 50 ] || fail "ctest lists no tests"
# The programs that have GoogleTest in them; scripts may name it.
declare -A google
while IFS= read -r program; do
  [ "$(head -c 4 "$program")" != $'\x7fELF' ] || google[$program]=yes
done < <(cut -f 2 "$scratch/tests" | sort -u | tr '\n' '\0' | xargs -0 grep -las gtest_list_tests)
cases=0
while IFS=$'\t' read -r name program filter skips status; do
  [ "${google[$program]-}" = yes ] || continue
  cases=$((cases + 1))
  [ "${program##*/} $status" != "conformance_test 77" ] || continue
  [[ $filter == --gtest_filter=* && $filter != *'*'* && $skips -gt 0 ]] ||
    fail "$name is a whole GoogleTest program ($program): add it by add_google_tests()"
done <"$scratch/tests"
[ $cases -gt 50 ] || fail "only $cases cases of GoogleTest were found"
