#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A recording from inside has the Lua VMs of all threads, also one that is interpreted in a loop.
#   threads.sh COMPILER LUAJIT_DIR
source "$(dirname "$0")/../lib.sh"
cc=$1 luajit=$2
"$cc" -Wall -Wextra -Werror -I"$luajit/include/luajit-2.1" "$(dirname "$0")/threads.c" -o "$scratch/host" \
  "$luajit/libluajit-5.1.so.2" -lpthread
same "calls in the other thread" "$(TMPDIR=$scratch LD_LIBRARY_PATH=$luajit timeout 60 "$scratch/host" 2>&1)" true
