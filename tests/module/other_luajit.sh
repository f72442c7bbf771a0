#!/bin/bash
# SPDX-License-Identifier: MIT
#
# On a LuaJIT without tracepoints the module says what is missing.
#   other_luajit.sh LUAJIT_UPSTREAM
source "$(dirname "$0")/../lib.sh"
other=$1
[ -x "$other" ] || other=$(PATH=/usr/bin:/bin command -v luajit || true)
[ -n "$other" ] || skip "there is no LuaJIT without tracepoints (LUAJIT_VARIANTS)"
refuses 'luatrace needs a LuaJIT with luatrace.s tracepoints; this is LuaJIT 2' "$other" -e 'require "luatrace"'
