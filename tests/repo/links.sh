#!/bin/bash
# SPDX-License-Identifier: MIT
# Links between our documents lead somewhere.
source "$(dirname "$0")/../lib.sh"
cd "$(dirname "$0")/../.."

broken=()
count=0
while IFS= read -r page; do
  while IFS= read -r link; do
    case $link in http*://* | '#'* | mailto:*) continue ;; esac
    count=$((count + 1))
    [ -e "$(dirname "$page")/${link%%#*}" ] || broken+=("$page -> $link")
  done < <(grep -oE '\]\([^) ]+\)' "$page" | sed 's/^](//; s/)$//')
done < <(scripts/files | grep '\.md$')
[ $count -gt 0 ] || fail "no links were found"
[ ${#broken[@]} -eq 0 ] || fail "$(printf 'broken links:\n'; printf '  %s\n' "${broken[@]}")"
