# SPDX-License-Identifier: MIT
# Shared by the tests of --watch, on top of tests/attach/lib.sh. They run in this folder, so
# that chunk names are short.
#
#   watch OPTIONS...   luatrace-record with them; values without their times: $scratch/values,
#                      messages: $scratch/record.err
#   values             the values
source "$(dirname "${BASH_SOURCE[0]}")/../attach/lib.sh"
cd "$(dirname "${BASH_SOURCE[0]}")"
luajit=$bin/luajit
watch() {
  "$bin/luatrace-record" "$@" >"$scratch/record.out" 2>"$scratch/record.err" ||
    fail "luatrace-record $*: $(cat "$scratch/record.err")"
}
# The program's own lines have no time.
values() { sed -nE 's/^[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6} //p' "$scratch/record.out"; }
printed() { grep -vE '^[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6} |^    ' "$scratch/record.out"; }
