#!/bin/bash
# SPDX-License-Identifier: MIT
#
# not_built.sh BUILD
#
# A luatrace-record that was built without BPF says so, and records directly.
source "$(dirname "$0")/../lib.sh"
record=$1/tests/bpf/luatrace-record-without-bpf
luajit=$1/bin/luajit
trace=$scratch/trace.bin
program='local function work() end jit.off(work) for i = 1, 1000 do work() end'
said='--via bpf: this luatrace-record was built without it: not wanted'

# refused STATUS OPTIONS...: says so, and leaves no file
refused() {
  local status=0
  "$record" --via bpf -o "$trace" "$@" 2>"$scratch/err" || status=$?
  same "status of --via bpf $*" "$status" 125
  grep -qF -e "$said" "$scratch/err" || fail "--via bpf $* says: $(cat "$scratch/err")"
  [ ! -e "$trace" ] || fail "--via bpf $* has left a trace behind"
}
refused -p $$
refused -- "$luajit" -e "$program"

calls() { "$1/bin/luatrace-analyze" --json "$trace" | jq '[.functions[] | select(.name == "work") | .calls] | add'; }
for via in direct auto; do
  "$record" --via $via -o "$trace" -- "$luajit" -e "$program"
  same "calls by --via $via" "$(calls "$1")" 1000
done
