#!/bin/bash
# SPDX-License-Identifier: MIT
# Links between our documents lead somewhere.
source "$(dirname "$0")/../lib.sh"
cd "$(dirname "$0")/../.."

# "PAGE -> LINK" of each link to another file.
scripts/files | grep '\.md$' | tr '\n' '\0' | xargs -0 grep -oHE '\]\([^) ]+\)' |
  sed -E 's/:\]\(/ -> /; s/\)$//' | grep -vE '^[^ ]* -> (https?[^ ]*://|#|mailto:)' >"$scratch/links"
broken=()
while read -r page _ link; do
  case $page in */*) folder=${page%/*} ;; *) folder=. ;; esac
  [ -e "$folder/${link%%#*}" ] || broken+=("$page -> $link")
done <"$scratch/links"
[ -s "$scratch/links" ] || fail "no links were found"
[ ${#broken[@]} -eq 0 ] || fail "$(printf 'broken links:\n'; printf '  %s\n' "${broken[@]}")"
