# SPDX-License-Identifier: MIT
# The part of full/run that runs in the guest: much text at once, full tables, a full disk, another
# build.

start burst lua_errors -c "$luajit $programs/errs.lua 3000" verbose=1
finish burst
start slow_burst lua_slow -c "$luajit $programs/errs.lua 2000" limit_us=0
finish slow_burst

for script in top coroutines flame errors; do
  start small_$script small_$script -c "$luajit $programs/crowd.lua"
  finish small_$script
done

# A disk of 40 KB.
mkdir /mnt/disk
mount -t tmpfs -o size=40k disk /mnt/disk
for script in calls errors; do
  case $script in calls) module=static values=() ;; errors) module=lua_errors values=(verbose=1) ;; esac
  ln -sf /mnt/disk/out /mnt/full_$script.out
  start full_$script $module -c "$luajit $programs/errs.lua 2000" "${values[@]}"
  finish full_$script
  rm /mnt/full_$script.out /mnt/disk/out
done
umount /mnt/disk

# Another build than the one the modules were made for.
mount --bind "$PWD/rebuilt" "$luajit"
for script in top slow coroutines flame errors; do
  start rebuilt_$script lua_$script -c "$luajit $programs/many.lua 100"
  finish rebuilt_$script
done
umount "$luajit"

# Values that make no sense.
while read -r script value; do
  status=0
  staprun -c "$luajit $programs/many.lua 10" -o /mnt/values.out "lua_$script.ko" "$value" 2>/mnt/values.err </dev/null || status=$?
  echo "$script $value: $status $(sed -n 's/ near .*//; s/^ERROR: //p' /mnt/values.err | head -n 1)$(grep -o '^READY' /mnt/values.err || true)"
done >values <<'VALUES'
top interval=0
top rows=101
slow callers=60
slow limit_us=-1
coroutines rows=0
VALUES
