#!/bin/bash
# SPDX-License-Identifier: MIT
#
# With the switch off, a patched tree compiles to the same object files as an
# unpatched one, byte for byte.
#
#   [CROSS_COMPILE=PREFIX] identity.sh TARBALL_OR_TREE
source "$(dirname "$0")/../lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
"$root/luajit-usdt/scripts/identity" "$1" || fail "the tracepoints are off, but not without a trace"
