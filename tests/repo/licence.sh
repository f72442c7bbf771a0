#!/bin/bash
# SPDX-License-Identifier: MIT
# Each file has a licence line, except data: JSON has no comments, and files that tests compare byte
# for byte must hold nothing else.
source "$(dirname "$0")/../lib.sh"
cd "$(dirname "$0")/../.."

# Prints the files with the line among the first 25 lines or the last 3. One process reads them all:
# starting one for each file would take a minute.
licensed() {
  tr '\n' '\0' | xargs -0 awk '
    function at_end() { if (file != "" && last - line < 3) print file }
    FNR == 1 { at_end(); file = FILENAME; line = -3 }
    { last = FNR }
    /SPDX-License-Identifier: / { line = FNR; if (FNR <= 25) print FILENAME }
    END { at_end() }' | sort -u
}

scripts/files | grep -vE '^LICENSE$|\.(json|txt|bin|png|svg|expected|golden)$|/data/' | sort >"$scratch/files"
count=$(wc -l <"$scratch/files")
[ "$count" -gt 20 ] || fail "only $count files were looked at"
without=$(licensed <"$scratch/files" | comm -23 "$scratch/files" -)
[ -z "$without" ] || fail "no line 'SPDX-License-Identifier: MIT' in: $(xargs <<<"$without")"

# The search itself works.
cd "$scratch"
lines() { for ((i = 0; i < $1; i++)); do echo; done; }
spdx='SPDX-''License-Identifier: MIT'
{ lines 24; echo "$spdx"; lines 9; } >early
{ lines 25; echo "$spdx"; lines 3; } >between
{ lines 40; echo "$spdx"; lines 2; } >late
: >empty
same "files with the line" "$(printf '%s\n' between early empty late | licensed | xargs)" "early late"
