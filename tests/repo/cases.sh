#!/bin/bash
# SPDX-License-Identifier: MIT
# A GoogleTest program must not be one test of ctest's, or cases that skip themselves would count as
# passed. Every such test names one case and knows what a skipped one looks like.
#   cases.sh BUILD_FOLDER CTEST
source "$(dirname "$0")/../lib.sh"

"$2" --test-dir "$1" --show-only=json-v1 >"$scratch/tests.json"
jq -r '.tests[] | select(.command) | [.name, .command[0],
    ([.command[] | select(startswith("--gtest_filter="))][0] // "-"),
    ([.properties[] | select(.name == "SKIP_REGULAR_EXPRESSION")] | length | tostring)] | @tsv' \
  "$scratch/tests.json" >"$scratch/tests"
[ "$(wc -l <"$scratch/tests")" -gt 50 ] || fail "ctest lists no tests"
cases=0
declare -A google
while IFS=$'\t' read -r name program filter skips; do
  if [ -z "${google[$program]-}" ]; then
    google[$program]=no
    [ "$(head -c 4 "$program" 2>/dev/null)" != $'\x7fELF' ] || ! grep -q gtest_list_tests "$program" || google[$program]=yes
  fi
  [ "${google[$program]}" = yes ] || continue
  cases=$((cases + 1))
  [[ $filter == --gtest_filter=* && $filter != *'*'* && $skips -gt 0 ]] ||
    fail "$name is a whole GoogleTest program ($program): add it by add_google_tests()"
done <"$scratch/tests"
[ $cases -gt 50 ] || fail "only $cases cases of GoogleTest were found"
