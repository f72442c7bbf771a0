#!/bin/bash
# SPDX-License-Identifier: MIT
# Each file has a licence line, except data: JSON has no comments, and files that tests compare byte
# for byte must hold nothing else.
source "$(dirname "$0")/../lib.sh"
cd "$(dirname "$0")/../.."

without=()
count=0
while IFS= read -r file; do
  case $file in
    LICENSE | *.json | *.txt | *.bin | *.png | *.svg | *.expected | *.golden | */data/*) continue ;;
  esac
  count=$((count + 1))
  { head -n 25 "$file"; tail -n 3 "$file"; } | grep 'SPDX-License-Identifier: ' >/dev/null || without+=("$file")
done < <(scripts/files)
[ "$count" -gt 20 ] || fail "only $count files were looked at"
[ ${#without[@]} -eq 0 ] || fail "no line 'SPDX-License-Identifier: MIT' in: ${without[*]}"
