#!/bin/bash
# SPDX-License-Identifier: MIT
#   run.sh NODE TEST.mjs      with ANALYZE in the environment; $SCRATCH is a folder for the test;
#                             clients.mjs is skipped for the same reason as install_modules.sh
source "$(dirname "$0")/../lib.sh"
[ "${2##*/}" != clients.mjs ] || [ ! -e "$MODULES/unreachable" ] || skip "$(cat "$MODULES/unreachable")"
export SCRATCH=$scratch
unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY all_proxy
"$1" --test "$2"
