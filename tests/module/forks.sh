#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Forked children of a host in C are recorded with everything: the creation of a coroutine may be their
# first event.
#   forks.sh COMPILER LUAJIT_DIR
source "$(dirname "$0")/../lib.sh"
cc=$1 luajit=$2
"$cc" -Wall -Wextra -Werror -I"$luajit/include/luajit-2.1" "$(dirname "$0")/forks.c" -o "$scratch/host" \
  "$luajit/libluajit-5.1.so.2"
export LD_LIBRARY_PATH=$luajit
luatrace-record -q -o "$scratch/t.bin" -- "$scratch/host" || fail "the host failed"
luatrace-analyze --strict --json --threads "$scratch/t.bin" >"$scratch/json" || fail "lost: $(jq .trust "$scratch/json")"
same "calls" "$(jq '[.functions[] | select(.name == "work") | .calls] | add' "$scratch/json")" $((10 + 3 * 12))
same "processes" "$(jq '[.threads[].pid] | unique | length' "$scratch/json")" 4
