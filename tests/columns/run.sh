#!/bin/bash
# SPDX-License-Identifier: MIT
#   run.sh NODE TEST.mjs      with ANALYZE, SYNTH and MODULES in the environment; $SCRATCH is a folder
#                             for the test. Skipped for the same reason as install_modules.sh.
source "$(dirname "$0")/../lib.sh"
[ ! -e "$MODULES/unreachable" ] || skip "$(cat "$MODULES/unreachable")"
export SCRATCH=$scratch
"$1" --test "$2"
