#!/bin/bash
# SPDX-License-Identifier: MIT
# On one machine: the same bytes in any order, by any number of jobs, in trees of any shape, and after
# deaths of tasks; what cannot be read is left out by name.
source "$(dirname "$0")/lib.sh"

for shape in "2 1" "3 4" "32 2"; do
  fleet 3 -o out.profile --from inputs --batch "${shape% *}" --jobs "${shape#* }"
  names_them
  equal "batches and jobs $shape"
done
sort -r inputs | fleet 3 -o out.profile --from - --batch=2
equal "another order"
fleet 0 -o out.profile t[1-9].bin --batch 4
same "messages of damage only" "$(grep -vc '^luatrace-analyze: t5.bin: ' err || :)" 0
equal "files as arguments"

# Saved profiles are inputs, too; and filters and groups are for each trace.
"$analyze" -q t1.bin t2.bin --save-profile early.profile
fleet 0 -o out.profile early.profile t[3-9].bin
equal "profiles and traces"
"$analyze" -q --group-by vm -H f1 t?.bin --save-profile grouped.profile 2>err
fleet 0 -o out.profile --batch 2 t[1-9].bin -- --group-by vm -H f1
equal "groups and filters" grouped.profile
"$analyze" -q t[1-46-9].bin --save-profile whole.profile
fleet 3 -o out.profile t[1-9].bin -- --strict
grep 'left out: t5.bin: ' err >/dev/null || fail "--strict: $(cat err)"
equal "without damage" whole.profile

# Names that a shell or an option parser could misread.
cp t1.bin "./-q"
cp t2.bin $'a $(touch oops)\t\'"b.bin'
"$analyze" -q --save-profile odd.profile -- -q $'a $(touch oops)\t\'"b.bin'
printf '%s\n' -q $'a $(touch oops)\t\'"b.bin' >odd
fleet 0 -o out.profile --from odd
equal "odd names" odd.profile
[ ! -e oops ] || fail "a name was executed"

# Deaths: of luatrace-analyze, of a task that analyzes, of one that merges; each once.
kills analyzer_died '*" t3.bin"' analyzer
kills task_died '*" t8.bin"' task
kills merge_died '*done/0.1.profile*' task
fleet 3 -o out.profile --from inputs --batch 2 --jobs 2
for death in analyzer task merge; do [ -d ${death}_died ] || fail "no ${death} died"; done
names_them
equal "after deaths"

# An input whose analysis always dies, and one that always takes its task with it.
echo 'case "$*" in *" t3.bin") kill -9 $$ ;; *" t8.bin") kill -9 $(task) $$ ;; esac' >before
"$analyze" -q t[124-79].bin --save-profile without.profile 2>err
: >calls
fleet 3 -o out.profile t[1-9].bin --batch 2 --tries 2
grep -E 'left out: t3.bin: luatrace-analyze ended with status 137 \(2 attempts\)' err >/dev/null &&
  grep -E 'left out: t8.bin: its task ended before it was analyzed \(2 attempts\)' err >/dev/null || fail "messages: $(cat err)"
same "attempts of each" "$(grep -c ' t3.bin$' calls) $(grep -c ' t8.bin$' calls)" "2 2"
equal "without them" without.profile

# Merges that always die: nothing is written, and the run ends.
echo 'case "$*" in *done/0.0.profile*) kill -9 $$ ;; esac' >before
fleet 2 -o out.profile t[1-9].bin --batch 3 --tries 2
grep 'task 1:0: not merged in 2 attempts' err >/dev/null || fail "messages: $(cat err)"
[ ! -e out.profile ] || fail "a profile was written"
: >before

# Conditions on a fleet's profile: the verdict of the traces.
fleet 0 -o out.profile t[1-9].bin
for condition in 'calls(f1) > 5' 'calls(f1) > 1000000' 'self(f2) > 1% and p99(f2) > 1ns' 'lost > 0'; do
  for input in "t1.bin t2.bin t3.bin t4.bin t5.bin t6.bin t7.bin t8.bin t9.bin" out.profile; do
    status=0
    "$analyze" -q --fail-if "$condition" $input >>verdicts 2>/dev/null || status=$?
    echo "$status" >>verdicts
  done
done
same "verdicts of traces and of their profile" "$(grep -v '^luatrace' verdicts | xargs)" "4 4 0 0 4 4 0 0"

# The summary of many traces does not begin with pages of their names.
"$analyze" out.profile >summary
grep -x " *4 more traces: --info lists all" summary >/dev/null || fail "the summary: $(cat summary)"
same "traces in the summary" 5 "$(grep -c '^trace ' summary)"
same "traces of --info" 9 "$("$analyze" --info out.profile | grep -c '^trace ')"
