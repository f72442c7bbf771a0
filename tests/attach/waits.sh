#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A call that yields is open while its coroutine is suspended: a recorder that attaches meanwhile, or
# loses events meanwhile, gets it in the report of the stack, and its end after the resume.
source "$(dirname "$0")/lib.sh"
expected() { # FUNCTION
  cat <<END
resume
stack resumed
frame waits.lua:24
frame waits.lua:23
frame $1
return $1
return waits.lua:23
entry waits.lua:23
entry $1
suspend yield
resume
stack resumed
frame waits.lua:24
frame waits.lua:23
frame $1
return $1
return waits.lua:23
return waits.lua:24
suspend done
END
}
# The events of the coroutine, in order, without those of others.
of_coroutine() {
  "$bin/luatrace-analyze" --dump=calls "$scratch/trace.bin" |
    awk '$2 == "C2" { print $4, $5 } $4 == "resume" && $5 == 2 { print "resume" }'
}
for how in c lua; do
  rm -f "$scratch"/*
  gate "$bin/luajit" "$here/waits.lua" "$scratch" "$build/tests/conformance/?.so" $how
  ready
  record -p $target --ring-size 256K
  recording
  open_gate
  within 20 "the second wait" test -e "$scratch/waiting"
  stop_recorder
  touch "$scratch/lose"
  within 20 "the loss" test -e "$scratch/lost"
  kill -CONT $recorder
  logged_loss() { [ "$(json "$scratch/trace.bin" 2>/dev/null | jq .trust.events)" -gt 20000 ]; }
  within 20 "the ring to be read" logged_loss
  touch "$scratch/taken"
  ended
  finish 0
  name=C:coroutine.yield
  [ $how = lua ] || name=C:conformance_module.yield
  same "events of the coroutine ($how)" "$(of_coroutine)" "$(expected $name)"
  json "$scratch/trace.bin" | jq -e '.trust | .lost > 100000 and .anomalies == .lost' >/dev/null ||
    fail "$how: $(json "$scratch/trace.bin" | jq -c .trust)"
done
