#!/bin/bash
# SPDX-License-Identifier: MIT
# What a visitor meets first: the two commands on the README's first screen, the index of the
# documents, the version.
source "$(dirname "$0")/../lib.sh"
cd "$(dirname "$0")/../.."

head -n 24 README.md >"$scratch/screen"
for command in ./scripts/demo ./scripts/test; do
  grep -E "^$command +# " "$scratch/screen" >/dev/null || fail "$command is not on the first screen of README.md"
  [ -x "$command" ] || fail "$command cannot be executed"
done

same "documents that docs/README.md lists once" \
  "$(grep -oE '\]\([a-z-]+\.md\)' docs/README.md | tr -d '])(' | sort)" \
  "$(cd docs && ls ./*.md | sed 's|^\./||' | grep -v '^README.md$' | sort)"

version=$(sed -nE 's/^project\(luatrace VERSION ([0-9.]+).*/\1/p' CMakeLists.txt)
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || fail "no version in CMakeLists.txt"
same "version of luatrace-stap" "$(sed -nE 's/^version=([0-9.]+).*/\1/p' stap/luatrace-stap)" "$version"
same "newest version of CHANGELOG.md" "$(grep -m 1 -oE '^## [0-9.]+' CHANGELOG.md)" "## ${version%.0}"
