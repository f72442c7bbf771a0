#!/bin/bash
# SPDX-License-Identifier: MIT
# The commands of docs/examples/fleet-job.yaml, run here as an indexed Job runs them: each index in any
# order, some of them again, some twice at once. There is no cluster, and nothing of Kubernetes, in this test.

source "$(dirname "$0")/lib.sh"

mkdir fleet store
cp t?.bin broken.bin store/
cp inputs fleet/listing
cat >programs/aws <<END
#!/bin/bash
[ "\$1 \$2 \$3" = "s3 cp --quiet" ] && exec cp "$scratch/store/\$4" "\$5"
END
chmod +x programs/aws
PATH=$scratch/programs:$PATH

# The command of a step as the container gets it; the volume is in $scratch, the batch smaller.
grep '^ *command: ' "$here/../../docs/examples/fleet-job.yaml" | sed 's/^ *command: //' | sed "s|/fleet|$scratch/fleet|g; s/--batch 32/--batch 2/" >commands
same "commands in the manifest" "$(wc -l <commands)" 3
step() {
  mapfile -t words < <(sed -n "$1p" commands | jq -r '.[]')
  "${words[@]}" >out 2>err
}
step 1 || fail "prepare: $(cat err)"
same "tasks" "$(cat out)" "6 3 2 1"
export JOB_COMPLETION_INDEX
pods=()
for JOB_COMPLETION_INDEX in 4 0 5 0 1 4; do # 2 and 3 never ran.
  step 2 &
  pods+=($!)
done
for pod in "${pods[@]}"; do wait "$pod" || fail "a task: $(cat err)"; done
[ -e fleet/day/done/0.5.profile ] && [ ! -e fleet/day/done/0.2.profile ] || fail "results of tasks: $(ls fleet/day/done)"
: >calls
step 3 || fail "merge: $(cat err)"
same "inputs left out" "$(sed -n 's/.*left out: \(.*\.bin\): .*/\1/p' err | xargs)" "missing.bin broken.bin"
same "analyses of t1.bin, t3.bin and t4.bin in the last step" "$(for i in 1 3 4; do grep -c " t$i.bin$" calls || :; done | xargs)" "0 0 1"
cp fleet/day.profile out.profile
equal "an indexed Job"
