#!/bin/bash
# SPDX-License-Identifier: MIT
#
# C code resumes a coroutine; a recorder attaches before that returns. The coroutine yields, is used
# by C code while it is suspended (finalizers run on its stack), continues and ends, all during the
# recording: nothing unbalanced, nothing lost.
#
#   resumes.sh BUILD VIA
source "$(dirname "$0")/lib.sh"
via=$2
need_way "$via"

gate env LD_LIBRARY_PATH="$build/lib" "$build/tests/attach/attach_resumes" "$scratch"
ready
record --via "$via" -p $target
if [ "$via" = bpf ] && ! kill -0 $recorder 2>/dev/null; then skip "$(cat "$scratch/record.err")"; fi
within 20 "the first event" logged "first event"
open_gate
ended
finish 0
no_anomalies "$scratch/trace.bin"
count() { json "$scratch/trace.bin" | jq "[.functions[] | select(.line == $1) | .calls] | add // 0"; }
# By hand: 1; twice for 2 and 3; 4, 5, 6; three finalizers each time that litter was left.
same "calls of leaf" "$(count 1)" 14
same "calls of final" "$(count 2)" 6
same "calls of inner" "$(count 5)" 2
same lost "$(json "$scratch/trace.bin" | jq .trust.lost)" 0
# The coroutine whose resume began before the recording, and the one that was made by a thread
# that runs no Lua: each suspended as often as it yielded, and both ended.
"$bin/luatrace-analyze" --dump=calls "$scratch/trace.bin" >"$scratch/dump"
same yields "$(grep -c 'suspend yield' "$scratch/dump")" 3
same ends "$(grep -c 'suspend done' "$scratch/dump")" 2
