#!/bin/bash
# SPDX-License-Identifier: MIT
# What is refused, with which status and message; nothing is written.
source "$(dirname "$0")/lib.sh"

# refused STATUS PATTERN ARGUMENT...
refused() {
  fleet "$1" "${@:3}"
  grep -E -e "$2" err >/dev/null || fail "luatrace-fleet ${*:3}: no message '$2', but: $(cat err)"
  [ ! -e out.profile ] || fail "luatrace-fleet ${*:3} wrote a profile"
}
refused 1 'missing output file \(-o FILE\)' t1.bin
refused 1 'missing inputs' -o out.profile
refused 1 '--from: missing value' -o out.profile --from
refused 1 '--jobs: given twice' -o out.profile --jobs 1 --jobs 2 t1.bin
refused 1 '--job: unknown option' -o out.profile --job 1 t1.bin
for option in jobs batch tries; do
  for value in 0 -1 x 12345678; do refused 1 "--$option: invalid value $value" -o out.profile --$option $value t1.bin; done
done
refused 1 '--batch: invalid value 1' -o out.profile --batch 1 t1.bin
refused 1 'choose local, slurm or parallel' -o out.profile --on cloud t1.bin
refused 1 '--on slurm: missing work folder' -o out.profile --on slurm t1.bin
refused 1 '--on parallel: missing hosts' -o out.profile --on parallel --work w t1.bin
refused 1 '--hosts: only with' -o out.profile --hosts : t1.bin
refused 1 'standard input cannot be an input' -o out.profile -
refused 1 'input is empty' -o out.profile ''
refused 1 'line break' -o out.profile $'a\nb'
refused 2 'list: cannot read' -o out.profile --from no/list
refused 1 '--task: missing work folder|--prepare and --task: missing' --task 0:0
refused 1 'cannot be combined' --prepare --work w -o out.profile t1.bin
refused 2 'no plan there' --task 0:0 --work none
refused 1 "unrecognised option '--gruop-by'" -o out.profile t1.bin -- --gruop-by vm
refused 2 'none of the 2 inputs was readable' -o out.profile missing.bin broken.bin

# What exists is not lost.
echo "a letter" >letter
refused 2 'letter: not overwritten' -o letter t1.bin
same "the file" "$(cat letter)" "a letter"
refused 2 'no such folder' -o no/such/out.profile t1.bin
cp one.profile old.profile
fleet 2 -o old.profile missing.bin
cmp one.profile old.profile || fail "an older profile is lost"

# A work folder belongs to one plan.
same "tasks of each level" "$(programs/luatrace-fleet --prepare --work w --batch 2 t[1-9].bin)" "5 3 2 1"
refused 1 'plan of other inputs' -o out.profile --work w --batch 2 t[1-8].bin
refused 1 'plan of other inputs' -o out.profile --work w --batch 3 t[1-9].bin
refused 1 'has a plan already' -o out.profile --work w --batch 2
for task in x 0 0:5 4:0 0:-1 '0:0;x'; do refused 1 '--task: invalid value .* 5 3 2 1 tasks' --work w --task "$task"; done
fleet 75 --work w --task 1:0

# Profiles that cannot be merged: the message names inputs.
"$analyze" -q --group-by vm t3.bin --save-profile grouped.profile
refused 4 'grouped.profile is grouped by .vm., t1.bin is not grouped' -o out.profile t1.bin grouped.profile
refused 4 't[14].bin is not grouped, grouped.profile is grouped by' -o out.profile --batch 2 t1.bin t2.bin grouped.profile t4.bin
grep "$scratch" err >/dev/null && fail "a message names a file of the work folder: $(cat err)"

fleet 0 -o out.profile t1.bin t1.bin
grep 't1.bin: given twice' err >/dev/null || fail "no message: $(cat err)"
fleet 0 --help
