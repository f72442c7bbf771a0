#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The host says which request a coroutine works for: each time in the trace, once; a coroutine that is
# used again gets another request with its new id; and a recorder that attaches gets what was set before.
#
#   requests.sh BUILD FLAVOUR...     flavours that have lua_setexdata
source "$(dirname "$0")/lib.sh"
shift
# The events of coroutines and requests, by hand from requests.c: its main coroutine is 1.
from_start=$(cat <<'END'
stack 1 activate n=0
create 2
request 2 0x1000
resume 2
suspend yield
create 3
request 3 0x2000
resume 3
create 4
resume 4
suspend yield
suspend done
resume 2
suspend yield
resume 2
suspend done
collect 2
create 5
request 5 0x3000
resume 5
suspend yield
request 1 0x1000
request 1 0x0
END
)
# The main coroutine is 1 and runs; the others have no id before they do something. The one that was
# suspended has its request from its report.
attached=$(cat <<'END'
stack 1 activate n=0
create 2
request 2 0x2000
resume 2
create 3
resume 3
suspend yield
suspend done
resume 4
stack 4 resumed n=2
request 4 0x1000
suspend yield
resume 4
suspend done
collect 4
create 5
request 5 0x3000
resume 5
suspend yield
request 1 0x1000
request 1 0x0
END
)
events() {
  "$bin/luatrace-analyze" --dump "$scratch/trace.bin" | cut -d' ' -f3- |
    grep -E '^(create|collect|resume|suspend|stack|request) '
}
for flavour in "$@"; do
  export LD_LIBRARY_PATH=$build/luajit/$flavour
  touch "$scratch/go"
  "$bin/luatrace-record" -q -o "$scratch/trace.bin" -- "$build/tests/attach/attach_requests" "$scratch"
  same "events of a command ($flavour)" "$(events)" "$from_start"
  for via in direct bpf; do
    [ $via = direct ] || has_bpf || continue
    rm -f "$scratch"/*
    gate "$build/tests/attach/attach_requests" "$scratch"
    ready
    record --via $via -p $target
    within 20 "the first event" logged "first event"
    open_gate
    ended
    finish 0
    same "events after attaching ($flavour, $via)" "$(events)" "$attached"
  done
done
