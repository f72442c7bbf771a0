#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The same in a root of Alpine itself: what musl.sh has built and luatrace-static, recorded inside, from
# the host and by a sidecar. On demand, as root: Alpine is not among Debian's packages.
#
#   ctest -R 'musl.build|musl.module'        # in the build folder, which also needs luatrace-static
#   tests/musl/alpine.sh BUILD ROOTFS        ROOTFS: alpine-minirootfs-VERSION-x86_64.tar.gz
#
# The program runs as another user, in namespaces of its own: processes, files, network, host name, IPC.
source "$(dirname "$0")/../attach/lib.sh"
build=$(realpath "$1")
bin=$build/bin root=$scratch/alpine
[ "$(id -u)" = 0 ] || skip "only root can make a root"
luajit=("$build"/musl/luajits/*/luajit)
for needed in "${luajit[0]}" "$build/musl/module/luatrace.so" "$bin/luatrace-static"; do
  [ -e "$needed" ] || fail "there is no $needed"
done
glibc=$build/luajit/$(basename "$(dirname "${luajit[0]}")")/luajit

mkdir "$root"
tar -C "$root" -xf "$2"
[ -s "$root/etc/alpine-release" ] || fail "$2 is no root of Alpine"
mkdir -p "$root/usr/local/lib/lua/5.1" "$root/out"
cp "${luajit[0]}" "$root/usr/bin/"
cp "${luajit[0]%/*}/libluajit-5.1.so.2" "$root/usr/lib/"
cp "$build/musl/module/luatrace.so" "$root/usr/local/lib/lua/5.1/"
cp "$bin/luatrace-static" "$root/usr/bin/luatrace"
for tool in record analyze; do ln -s luatrace "$root/usr/bin/luatrace-$tool"; done
cp "$here/work.lua" "$here/gate.lua" "$root/usr/share/"
chmod 777 "$root/out"
chmod 755 "$scratch" # another user's way to it
user=65534:65534

# inside USER COMMAND...: in the root, in the namespaces that $enter makes or enters, and a mount namespace.
new_namespaces=(unshare --pid --net --uts --ipc --fork --kill-child)
enter=("${new_namespaces[@]}")
inside() {
  # shellcheck disable=SC2016  # the inner shell's
  "${enter[@]}" unshare --mount sh -c 'root=$0 user=$1; shift
    mount -t proc proc "$root/proc" && mount -t sysfs sys "$root/sys" && cd "$root" &&
    exec chroot --userspec="$user" "$root" /usr/bin/env -i PATH=/usr/bin:/bin "$@"' "$root" "$@"
}
same "what runs" "$(inside $user sh -c 'echo $$ $(id -u) $(cat /etc/alpine-release)')" "1 65534 $(cat "$root/etc/alpine-release")"

echo "== recorded inside"
events() { "$bin/luatrace-analyze" --dump=calls "$1"; }
for jit in -joff -Ohotloop=1; do
  inside $user luatrace record -q -o /out/inside.bin -- luajit $jit -e 'dofile("/usr/share/work.lua")()'
  no_anomalies "$root/out/inside.bin"
  "$bin/luatrace-record" -q -o "$scratch/glibc.bin" -- "$glibc" $jit -e "dofile('$here/work.lua')()"
  events "$scratch/glibc.bin" >"$scratch/glibc"
  events "$root/out/inside.bin" | cmp - "$scratch/glibc" >&2 || fail "$jit: other events than with glibc"
  same "calls of fib" 21891 "$(grep -c ' entry work\.lua:7$' "$scratch/glibc")"
  for view in --json --folded --dump=calls --dump; do
    inside $user luatrace analyze -q $view /out/inside.bin >"$scratch/inside"
    (cd "$root" && "$bin/luatrace-analyze" -q $view out/inside.bin) >"$scratch/outside"
    cmp <(sed 's|/out/inside.bin|out/inside.bin|' "$scratch/inside") "$scratch/outside" >&2 || fail "$view differs inside"
  done
done
inside $user luajit -e 'local t = require("luatrace") assert(t.start({ file = "/out/own.bin" }))
  dofile("/usr/share/work.lua")() assert(t.stop())'
calls "$root/out/own.bin" >"$scratch/own"
grep -qx "21891 line 7" "$scratch/own" || fail "by the module: $(cat "$scratch/own")"
calls "$scratch/glibc.bin" | grep -v 'line 0$' >"$scratch/started"

# below PID NAME: sets $pid, the process NAME that PID, or a child, has become; its number on the host.
below() {
  pid=$1
  while [[ -n $pid && $(tr '\0' ' ' <"/proc/$pid/cmdline") != $2\ * ]]; do
    pid=$(cat "/proc/$pid/task/$pid/children") && pid=${pid%% *} || return 1
  done
  [ -n "$pid" ]
}
waiting() {
  rm -rf "$root/out/gate"
  mkdir -m 777 "$root/out/gate"
  begin inside $user luajit /usr/share/gate.lua /out/gate /usr/share/work.lua spin
  within 20 "the program in the root" test -e "$root/out/gate/ready"
  within 20 "its number" below $target luajit
}
# The calls are those of a program that was started, but for the main chunk, which ran before.
has_all() { # FILE
  no_anomalies "$1"
  calls "$1" | grep -v 'line 0$' | diff "$scratch/started" - >&2 || fail "$1 has other calls"
}

for via in direct bpf; do
  need_way $via
  echo "== from the host, $via"
  waiting
  readelf -n "/proc/$pid/root/usr/lib/libluajit-5.1.so.2" >"$scratch/notes"
  grep -q 'Provider: luajit' "$scratch/notes" || fail "no notes in the library of process $pid"
  record --via $via -p "$pid"
  recording
  touch "$root/out/gate/go" "$root/out/gate/end"
  ended
  finish 0
  has_all "$scratch/trace.bin"

  # The recorder is Alpine's, too, in the namespaces of the program, where that is process 1: it would take the recorder along.
  echo "== from a sidecar, $via"
  waiting
  enter=(nsenter --target "$pid" --pid --net)
  as=$user
  [ $via = direct ] || as=0:0 # direct: as the program's own user, it needs no right
  inside $as luatrace record -v --via $via -p 1 -o /out/$via.bin 2>"$scratch/record.err" &
  recorder=$!
  started+=($recorder)
  enter=("${new_namespaces[@]}")
  recording
  touch "$root/out/gate/go"
  within 60 "the work" test -e "$root/out/gate/done"
  below $recorder luatrace
  kill -INT "$pid"
  finish 0
  touch "$root/out/gate/end"
  ended
  has_all "$root/out/$via.bin"
done
echo "Alpine $(cat "$root/etc/alpine-release"): $(wc -l <"$scratch/started") functions and their calls, the same in each way"
