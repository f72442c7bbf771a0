#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Lua VMs that are created and closed while the recorder is stopped: it cannot have their events, and
# says how many VMs there were. While it runs it has them all.
source "$(dirname "$0")/lib.sh"
for stopped in no yes; do
  gate "$bin/luajit" "$here/many_states.lua" "$scratch" 2
  ready
  record -p $target
  recording
  [ $stopped = no ] || stop_recorder  # for less than 5 s: the VMs would believe that it has been killed
  open_gate
  within 30 "the Lua VMs" test -e "$scratch/done"
  kill -CONT $recorder
  passes 3 # it reads the number from the process's memory
  touch "$scratch/end"
  ended
  finish 0
  streams=$("$bin/luatrace-analyze" --json "$scratch/trace.bin" | jq '.trace.files[0].streams | length')
  if [ $stopped = no ]; then
    same "streams" "$streams" 3
    ! logged 'closed before the recorder' || fail "VMs are said to be missing: $(cat "$scratch/record.err")"
  else
    same "streams" "$streams" 1
    logged ': 2 Lua VMs are not recorded: closed before the recorder could open the ring' ||
      fail "no message about the VMs: $(cat "$scratch/record.err")"
  fi
done
