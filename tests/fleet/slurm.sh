#!/bin/bash
# SPDX-License-Identifier: MIT
# By Slurm, for real: a controller and three nodes on loopback, with a munge of their own, in $scratch.
source "$(dirname "$0")/lib.sh"
source "$here/cluster.sh"

# -- Three nodes; an analysis, a task that analyzes and one that merges die once, and one is cancelled
command=(-o out.profile --from inputs --on slurm)
kills analyzer_died '*" t3.bin"' analyzer
kills task_died '*" t8.bin"' task
kills merge_died '*done/0.1.profile*' task
kills cancelled '*" t1.bin"' 'scancel "${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID"; sleep 60'
: >calls
fleet 3 "${command[@]}" --batch 3 --work w1
names_them
for death in analyzer_died task_died merge_died cancelled; do [ -d $death ] || fail "not $death"; done
equal "three nodes and deaths"
same "nodes that worked" "$(cut -d' ' -f1 calls | grep . | sort -u | xargs)" "n1 n2 n3"

# -- One node
scontrol update nodename=n2,n3 state=drain reason=test
: >calls
fleet 3 "${command[@]}" --batch 4 --work w2 --jobs 2
equal "one node"
same "nodes that worked" "$(cut -d' ' -f1 calls | grep . | sort -u | xargs)" "n1"

# -- More tasks than an array may have; and a driver that is ended takes its jobs with it
for i in {1..70}; do echo t1.bin; done >many
fleet 1 -o out.profile --from many --batch 2 --on slurm --work w3
grep "MaxArraySize 32" err >/dev/null || fail "messages: $(cat err)"
echo 'case "$*" in *" t1.bin") exec sleep 600 ;; esac' >before
programs/luatrace-fleet "${command[@]}" --work w4 >out 2>err &
driver=$!
jobs_are() { [ "$(squeue -h -r -t "$1" | wc -l)" "$2" "$3" ]; }
within 30 "a task" jobs_are running -ge 1
kill "$driver"
wait "$driver" || :
within 30 "the jobs to be cancelled" jobs_are pending,running,completing -eq 0
[ ! -e out.profile ] || fail "a profile was written"
