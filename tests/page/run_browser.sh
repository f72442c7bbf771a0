#!/bin/bash
# SPDX-License-Identifier: MIT
#
#   run_browser.sh NODE TEST.mjs      with PAGE_MODULES in the environment
#
# One test in a real browser; skipped if install_modules.sh was, for its reason.
set -euo pipefail
if [ -e "$PAGE_MODULES/unreachable" ]; then
  echo "SKIP: $(cat "$PAGE_MODULES/unreachable")" >&2
  exit 77
fi
exec "$1" --test "$2"
