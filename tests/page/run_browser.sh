#!/bin/bash
# SPDX-License-Identifier: MIT
#
#   run_browser.sh NODE TEST.mjs      with PAGE_MODULES in the environment, and
#                                     MORE_MODULES if the test needs a second folder
#
# One test in a real browser; skipped if install_modules.sh was, for its reason.
set -euo pipefail
for modules in "$PAGE_MODULES" "${MORE_MODULES:-$PAGE_MODULES}"; do
  [ ! -e "$modules/unreachable" ] || {
    echo "SKIP: $(cat "$modules/unreachable")" >&2
    exit 77
  }
done
exec "$1" --test "$2"
