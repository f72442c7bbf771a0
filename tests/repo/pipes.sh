#!/bin/bash
# SPDX-License-Identifier: MIT
# No script ends a pipe with grep -q: it ends at the first match, the process before it gets SIGPIPE
# if it still writes, and under pipefail the pipe has failed although there was a match.
source "$(dirname "$0")/../lib.sh"
cd "$(dirname "$0")/../.."

# pipes FILE...: such lines. "|| grep" is no pipe, nor is an alternative in a pattern.
pipes() {
  grep -nHE '(^|[^|\])[|]&? *[ef]?grep( +-[^ ]+)* +(-[a-zA-Z]*q|--quiet)' "$@" | grep -vE '^[^:]*:[0-9]*: *#' || true
}
mapfile -t scripts < <(scripts/files | tr '\n' '\0' | xargs -0 grep -lIE '^#!/bin/(ba)?sh|^source |^\. ')
[ ${#scripts[@]} -gt 100 ] || fail "only ${#scripts[@]} scripts were looked at"
same "pipes that end with grep -q" "$(pipes "${scripts[@]}")" ""

# The search itself works.
q=q
printf '%s\n' "a | grep -$q x" "a 2>&1 | grep -c -${q}E x" "a |& grep --${q}uiet x" \
  "a || grep -q x y" "grep -q 'a\\|b' c" "a | grep -c x" "# a | grep -$q x" >"$scratch/probe"
same "lines that are found" "$(pipes "$scratch/probe" | cut -d: -f2 | xargs)" "1 2 3"
