#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Runs a case of this folder: a Lua program that fails by an error.
#   run.sh CASE
source "$(dirname "$0")/../lib.sh"
export SCRATCH=$scratch TMPDIR=$scratch
luajit "$1"
[ -z "$(find "$scratch" -name 'luatrace-*')" ] || fail "a temporary file is left"
