# SPDX-License-Identifier: MIT
# Source it after lib.sh: starts a Slurm of its own in $scratch, a controller and the nodes n1, n2 and n3 (of
# one processor each) on loopback, with their munge. The end of the test ends them, by their ids. Exits
# with 77 if Slurm is not installed.
for program in slurmctld slurmd munged sbatch scontrol; do
  PATH=$PATH:/usr/sbin command -v $program >/dev/null || skip "$program is missing (scripts/deps --test)"
done
PATH=$PATH:/usr/sbin

mkdir -p munge state spool log
chmod 711 munge
head -c 1024 /dev/urandom >munge/key
chmod 400 munge/key
start() { "$@" >"log/$(basename "$1").$#" 2>&1 & started+=($!); }
start munged --foreground --force --key-file="$scratch/munge/key" --socket="$scratch/munge/socket" \
  --pid-file="$scratch/munge/pid" --log-file="$scratch/munge/log" --seed-file="$scratch/munge/seed" --num-threads=2
read -r -a ports < <(python3 -c 'import socket
s = [socket.socket() for _ in range(4)]
for x in s: x.bind(("127.0.0.1", 0))
print(*[x.getsockname()[1] for x in s])')
cat >slurm.conf <<END
ClusterName=test
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmctldPort=${ports[0]}
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/munge
AuthInfo=socket=$scratch/munge/socket
CredType=cred/munge
StateSaveLocation=$scratch/state
SlurmdSpoolDir=$scratch/spool/%n
SlurmctldPidFile=$scratch/state/pid
SlurmdPidFile=$scratch/spool/%n.pid
SlurmctldLogFile=$scratch/log/controller
SlurmdLogFile=$scratch/log/%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
MailProg=/bin/true
ReturnToService=2
MaxArraySize=32
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=100000,bf_interval=1
NodeName=n1 NodeAddr=127.0.0.1 Port=${ports[1]} CPUs=1
NodeName=n2 NodeAddr=127.0.0.1 Port=${ports[2]} CPUs=1
NodeName=n3 NodeAddr=127.0.0.1 Port=${ports[3]} CPUs=1
PartitionName=all Nodes=n[1-3] Default=YES
END
export SLURM_CONF=$scratch/slurm.conf
# Jobs first: without their node nobody would end what they run.
no_jobs() { [ -z "$(squeue -h 2>/dev/null)" ]; }
end_started() {
  scancel --user="$(id -un)" 2>/dev/null || true
  for ((i = 0; i < 100; i++)); do ! no_jobs || break; sleep 0.1; done
  kill -9 "${started[@]}" $(jobs -p) 2>/dev/null || true
}
within 20 "munge" test -S munge/socket
start slurmctld -D
for node in n1 n2 n3; do
  mkdir "spool/$node"
  slurmd -D -N $node >"log/out.$node" 2>&1 & started+=($!)
done
idle() { [ "$(sinfo -h -t idle -o %D 2>/dev/null || :)" = "$1" ]; }
within 60 "three idle nodes" idle 3
