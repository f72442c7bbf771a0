# SPDX-License-Identifier: MIT
# The part of quick.sh that runs in the guest.

# From the beginning of the program, whose end ends the recording.
start command static -c "$luajit $programs/exact.lua"
finish command
start linked shared -c "$linked $programs/exact.lua"
finish linked

# One of two processes, ended by its exit.
gated second "$linked" "$programs/mixed.lua"
gated first "$linked" "$programs/mixed.lua"
echo $gated >first.pid
start first shared -x $gated
open_gate first
open_gate second
wait $gated
finish first

# A library that comes later, ended by ^C.
LD_LIBRARY_PATH='' gated opened "$opened" "$programs/many.lua" 500
start opened shared -x $gated
open_gate opened
wait $gated
kill -INT $stap 2>/dev/null || true
finish opened

# A process that goes on afterwards, untouched.
"$luajit" "$programs/lives.lua" /mnt/lives /mnt/stop &
lives=$!
start lives static -x $lives
await grep -qx 13 /mnt/lives
kill -INT $stap
finish lives
await more_of /mnt/lives
: >/mnt/stop
wait $lives
cp /mnt/lives lives.probes

# Children are still in the program's own memory: when the script begins, one of them seen by it
# before the program is, and when it ends.
has_child() { [ -n "$(cat "/proc/$program/task/$program/children")" ]; }
mkfifo /mnt/fifo
"$spawns" /mnt/fifo /mnt/spawns &
program=$!
await has_child
start spawns shared -x $program
: >/mnt/spawns.go
await [ -e /mnt/spawns.went ]
: >/mnt/fifo
await grep -qsvx 0 /mnt/spawns
await more_of /mnt/spawns
: >/mnt/spawns.again
await has_child
sleep 1  # Meanwhile the script notices it.
kill -INT $stap
finish spawns
: >/mnt/fifo
wait $program
cp /mnt/spawns spawns.probes

# A command that ends while the script does, and one that the script sees ending first.
for i in 1 2; do
  start "leaves$i" static -c "$luajit $programs/leaves.lua /mnt/leaves$i.calls"
  await [ -e "/mnt/leaves$i.calls" ]
  kill -INT $stap
  finish "leaves$i"
  start "fat$i" static -c "$luajit $programs/fat.lua 2000"
  finish "fat$i"
done

# Nobody reads for a while: what does not fit into the buffer is lost. First the
# same program with nothing lost.
many="$luajit -e 'os.execute(\"until [ -e /mnt/stopped ]; do sleep 0.1; done\")' $programs/many.lua 20000 /mnt/over"
: >/mnt/stopped
start all static -c "$many"
finish all
rm /mnt/over /mnt/stopped
start loss static -c "$many" -b 1
kill -STOP $stap
: >/mnt/stopped
await [ -e /mnt/over ]
kill -CONT $stap
finish loss

# Another build than the one the module was made for.
mount --bind "$PWD/rebuilt.so" "$HOST_LIBRARY"
gated rebuilt "$linked" "$programs/many.lua" 500
start rebuilt shared -x $gated
open_gate rebuilt
wait $gated
finish rebuilt
