#!/bin/bash
# SPDX-License-Identifier: MIT
#
#   run_browser.sh NODE TEST.mjs      with PAGE_MODULES in the environment, and
#                                     MORE_MODULES if the test needs a second folder
#
# Runs one test in a real browser; skipped for the same reason as install_modules.sh.
set -euo pipefail
for modules in "$PAGE_MODULES" "${MORE_MODULES:-$PAGE_MODULES}"; do
  [ ! -e "$modules/unreachable" ] || {
    echo "SKIP: $(cat "$modules/unreachable")" >&2
    exit 77
  }
done
exec "$1" --test "$2"
