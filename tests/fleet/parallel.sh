#!/bin/bash
# SPDX-License-Identifier: MIT
# By GNU parallel over hosts. The hosts are a fallback for real ones: this machine as ":", and three names
# that a program in place of ssh runs here; one of the three does not answer.
source "$(dirname "$0")/lib.sh"
{ parallel --version 2>/dev/null || :; } | grep 'GNU parallel' >/dev/null || skip "GNU parallel is missing (scripts/deps --test)"
export PARALLEL_HOME=$scratch/parallel PARALLEL_SSH=$scratch/ssh
mkdir parallel
cat >ssh <<'END'
#!/bin/bash
while [[ $1 == -* ]]; do shift; done
host=$1
shift
[ "$1" != -- ] || shift
[ "$host" != away ] || { echo "ssh: connect to host away: No route to host" >&2; exit 255; }
# sshd sets SHELL, and without it GNU parallel runs nothing and says nothing.
FLEET_HOST=$host SHELL=/bin/bash exec bash -c "$*"
END
chmod +x ssh

fleet 3 -o out.profile --from inputs --batch 2 --on parallel --hosts : --work w1
names_them
equal "this machine as a host"

kills analyzer_died '*" t3.bin"' analyzer
kills task_died '*" t8.bin"' task
kills merge_died '*done/0.1.profile*' task
: >calls
fleet 3 -o out.profile --from inputs --batch 2 --on parallel --hosts one,two,away --jobs 1 --work w2
names_them
for death in analyzer task merge; do [ -d ${death}_died ] || fail "no ${death} died"; done
equal "hosts, one of them away"
same "hosts that worked" "$(cut -d' ' -f1 calls | grep . | sort -u | xargs)" "one two"

# No host at all: this ends, and what is in the folder can be used from elsewhere.
fleet 2 -o out.profile --from inputs --on parallel --hosts away --jobs 1 --tries 1 --work w3
grep 'tasks end without a result' err >/dev/null || fail "messages: $(cat err)"
fleet 3 -o out.profile --work w3
equal "here after all"
