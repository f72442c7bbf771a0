#!/bin/bash
# SPDX-License-Identifier: MIT
#
# --off-cpu: of a running process and its children, with the other options of --sample; what the
# analyzer says of it; what does not go together.
#
#   off_cpu_options.sh RECORD LUAJIT ANALYZE
source "$(dirname "$0")/../lib.sh"
source "$(dirname "$0")/lib.sh"
record=$1 luajit=$2 analyze=$3
needs_sampling "$record" --off-cpu

refuses '--off-cpu needs --sample' "$record" --off-cpu -o "$scratch/x.bin" -- true
refuses '--sample excludes --cpu' "$record" --sample 99 --off-cpu --cpu -o "$scratch/x.bin" -- true

cat >"$scratch/execute.lua" <<'END'
local function waiting() os.execute("sleep 0.05") return 1 end
local function working() local t = os.clock() while os.clock() - t < 0.02 do end return 2 end
while true do waiting() working() end
END
"$luajit" "$scratch/execute.lua" &
pid=$!
runs $pid "$luajit"
works $pid 3

take() { # NAME OPTION...
  local name=$1
  shift
  "$record" --sample 499 --off-cpu -q -o "$scratch/$name.bin" -p "$pid" -d 0.7 "$@" || fail "$name: status $?"
  samples "$scratch/$name.bin" >"$scratch/$name.txt"
}
none() { ! grep -E -e "$2" "$scratch/$1.txt" >&2 || fail "$1: should not be there: $2"; }
some() { grep -Eq -e "$2" "$scratch/$1.txt" || { cat "$scratch/$1.txt" >&2; fail "$1: missing: $2"; }; }
take all
some all 'off-cpu.*L:[^;]*:waiting;builtin#os\.execute;(N:[^;]*;)+(K:[^;]*;)+K:schedule$'
none all ':working'
same "samples of CPU time" "$(grep -vc off-cpu "$scratch/all.txt" || true)" 0
none all 'K:(bpf_|__schedule)'
take user --user-only
none user 'K:'
some user 'L:[^;]*:waiting;builtin#os\.execute;N:'
take kernel --kernel-only
none kernel '[LN]:'
some kernel 'K:.*wait'
take lua --lua-only
none lua '[NKC]:'
some lua 'L:[^;]*:waiting'
take children --children
[ "$(cut -d' ' -f1 "$scratch/children.txt" | sort -u | wc -l)" -gt 1 ] || fail "children's waits are missing"
"$record" --sample 499 -q -o "$scratch/cpu.bin" -p $pid -d 0.5

# What it says of them; without an option, as the file has nothing else.
"$analyze" "$scratch/all.bin" >"$scratch/summary"
grep -Eq '^duration .*\(blocked [0-9.]+ (ms|s)' "$scratch/summary" && grep -Eq '^samples .* of blocked time' "$scratch/summary" ||
  fail "the summary: $(head -n 6 "$scratch/summary")"
"$analyze" --format folded --frames L -o "$scratch/folded" "$scratch/all.bin"
grep -q ';builtin#os\.execute[ ;]' "$scratch/folded" || fail "builtins have no names"
"$analyze" --flame="$scratch/flame.html" "$scratch/all.bin"
grep -q 'blocked time' "$scratch/flame.html" || fail "the page does not say so"
same "--json" "$("$analyze" --json "$scratch/all.bin" | jq -r .trace.sampled)" off_cpu
refuses "cpu.bin has samples of CPU time, .*all.bin has samples of blocked time" "$analyze" "$scratch/all.bin" "$scratch/cpu.bin"
refuses "cpu.bin has samples of CPU time, .*all.bin has samples of blocked time" "$analyze" --diff "$scratch/cpu.bin" "$scratch/all.bin"

# A wait that does not end is not known.
sleep 60 &
sleeper=$!
status=0
"$record" --sample 99 --off-cpu -o "$scratch/none.bin" -p $sleeper -d 0.3 2>"$scratch/err" || status=$?
same "status without a wait" $status 124
grep -q 'no sample came; has any thread been blocked, and run again?' "$scratch/err" || fail "$(cat "$scratch/err")"
# A file without any is one of samples nevertheless; so is its text.
same "samples of a file without a wait" "$("$analyze" --json "$scratch/none.bin" | jq -c '[.trace.samples, has("idle_ns")]')" "[0,false]"
"$analyze" --dump "$scratch/none.bin" >"$scratch/none.txt"
same "of its text" "$("$analyze" --json "$scratch/none.txt" | jq .trace.samples)" 0
"$analyze" -q --report --off-cpu "$scratch/cpu.bin" >/dev/null 2>"$scratch/err" || fail "status $?"
grep -q 'cpu.bin has only samples of CPU time, which are shown without this option' "$scratch/err" || fail "$(cat "$scratch/err")"
refuses "--format parquet: .*all.bin has samples, which know no single calls" "$analyze" -q --format parquet -o "$scratch/tables" "$scratch/all.bin"
[ ! -e "$scratch/tables" ] || fail "an empty directory is left"

# What the VM does itself is in the sums with the C functions that do it.
"$record" --sample 1997 -q -o "$scratch/garbage.bin" -- "$luajit" -e 'local keep = {} for i = 1, 1e5 do keep[i] = {} end
  local t = os.clock() while os.clock() - t < 0.3 do collectgarbage() end'
"$analyze" --json "$scratch/garbage.bin" | jq -e '.trace | .collector_ns > .self_ns / 2 and .collector_ns < .self_ns' >/dev/null ||
  fail "collector: $("$analyze" --json "$scratch/garbage.bin" | jq -c '.trace | [.collector_ns, .self_ns]')"
"$analyze" "$scratch/garbage.bin" | grep '^VM  *collector .*%)' >/dev/null || fail "the summary does not name the collector"
