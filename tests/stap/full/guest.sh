# SPDX-License-Identifier: MIT
# The part of full/run that runs in the guest.

for script in top coroutines flame errors; do
  start $script lua_$script -c "$luajit $programs/exact.lua"
  finish $script
done
start slow lua_slow -c "$luajit $programs/slow.lua" limit_us=500000
finish slow
start leaf lua_slow -c "$luajit $programs/slow.lua" limit_us=500000 running=1 leaf=1
finish leaf
start attached lua_top -x $$ interval=1
"$luajit" "$programs/many.lua" 3000
kill -INT $stap
finish attached

# Many short recordings: each is complete, whatever ended it.
for i in 1 2 3 4 5; do
  start "short$i" static -c "$luajit $programs/many.lua 300"
  finish "short$i"
  gated "int$i" "$luajit" "$programs/many.lua" 300
  start "int$i" static -x $gated
  open_gate "int$i"
  wait $gated
  kill -INT $stap 2>/dev/null || true
  finish "int$i"
done
for i in 1 2 3 4 5 6 7 8; do
  start "fat$i" static -c "$luajit $programs/fat.lua 2000"
  finish "fat$i"
done
"$luajit" -e 'while not io.open("/mnt/stop") do for i = 1, 100 do string.rep("x", i) end end' &
busy=$!
start timed timed -x $busy
finish timed
kill $busy
wait $busy || true

# stap itself, and luatrace-stap. (The library is found by the program's own path to it.)
(
  unset LD_LIBRARY_PATH
  gated library "$build/tests/stap/stap_host_linked" "$programs/mixed.lua"
  user library
  open_gate library
  wait $gated
  finish library
  for name in program wrapped; do
    gated $name "$luajit" "$programs/mixed.lua"
    user $name
    open_gate $name
    wait $gated
    finish $name
  done
)

# A process that goes on afterwards, with a child that was forked meanwhile.
"$luajit" "$programs/lives.lua" /mnt/fork /mnt/fork.stop /mnt/fork.go &
forks=$!
start fork static -x $forks
: >/mnt/fork.go
await test -s /mnt/fork.child
await grep -qx 13 /mnt/fork
kill -INT $stap
finish fork
await more_of /mnt/fork
await more_of /mnt/fork.child
: >/mnt/fork.stop
wait $forks
cp /mnt/fork fork.probes
cp /mnt/fork.child child.probes

# A container: its own root, on an overlay, which goes away with its last process.
low=/mnt/low
mkdir -p $low/{usr/lib,lib64,lib/x86_64-linux-gnu,old} /mnt/{up,work,root}
cp /lib/x86_64-linux-gnu/lib{c,m,dl}.so.* /lib/x86_64-linux-gnu/libgcc_s.so.1 $low/lib/x86_64-linux-gnu/
cp /lib64/ld-linux-x86-64.so.2 $low/lib64/
cp "$HOST_LIBRARY" $low/usr/lib/
cp "$linked" "$programs/gate.lua" "$programs/mixed.lua" $low/
cat >/mnt/container <<'END'
mount -t overlay overlay -o lowerdir=/mnt/low,upperdir=/mnt/up,workdir=/mnt/work /mnt/root
cd /mnt/root
pivot_root . old
LD_LIBRARY_PATH=/usr/lib exec /stap_host_linked gate.lua /go mixed.lua
END
unshare -m bash /mnt/container >/dev/null &
container=$!
await grep -q libluajit /proc/$container/maps
start container container -x $container
: >/proc/$container/root/go
wait $container
finish container
dmesg | grep -i -e 'kernel BUG' -e 'Busy inodes' >container.dmesg || true
