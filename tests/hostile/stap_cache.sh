#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What luatrace-stap takes from, and puts into, its cache: stap compiles it into the kernel. The stap used here does
# nothing, so no kernel headers are needed. Usage: stap_cache.sh BUILD
source "$(dirname "$0")/../attach/lib.sh"
tool=$(cd "$here/../../stap" && pwd)/luatrace-stap
[ "$(id -u)" = 0 ] || skip "only root can make other users' folders"
mkdir -p "$scratch"/stap/{bin,share/systemtap/runtime/linux} "$scratch/kernel"
printf '#!/bin/sh\n' >"$scratch/stap/bin/stap" && chmod +x "$scratch/stap/bin/stap"
touch "$scratch/stap/share/systemtap/runtime/runtime.h" "$scratch/stap/share/systemtap/runtime/stp_task_work.c" "$scratch/kernel/.config"
echo 'dentry->d_inode' >"$scratch/stap/share/systemtap/runtime/linux/uprobes-inode.c" # is copied and patched
export PATH=$scratch/stap/bin:$PATH
chmod 755 "$scratch"
runtime() { "$tool" --runtime -r "$scratch/kernel"; }

# refused FOLDER PATTERN: the cache there is not used
refused() {
  export XDG_CACHE_HOME=$1
  refuses "other users can change $2" runtime
  [ -z "$(find "$1" -name 'stap-runtime-*')" ] || fail "something was put into $1"
}
mkdir "$scratch/own"
export XDG_CACHE_HOME=$scratch/own
copy=$(runtime)
[[ $copy == "$scratch/own/luatrace/stap-runtime-"* && -e $copy/runtime.h ]] || fail "not in the cache: $copy"
same "the second time" "$(runtime)" "$copy"
mkdir -p "$scratch/theirs" && chown 65534 "$scratch/theirs"
refused "$scratch/theirs" "$scratch/theirs \(user 65534, mode 755\)"
mkdir -p "$scratch/planted/luatrace" && chown 65534 "$scratch/planted/luatrace"
refused "$scratch/planted" "$scratch/planted/luatrace \(user 65534"
mkdir -p "$scratch/open/luatrace" && chmod 777 "$scratch/open"
refused "$scratch/open" "$scratch/open \(user 0, mode 777\)"
mkdir -p "$scratch/all/luatrace" && chmod 1777 "$scratch/all/luatrace"
refused "$scratch/all" "$scratch/all/luatrace \(user 0, mode 1777\)"
mkdir "$scratch/sticky" && chmod 1777 "$scratch/sticky" # like /tmp: our files stay ours
XDG_CACHE_HOME=$scratch/sticky runtime >/dev/null
ln -s "$scratch/theirs" "$scratch/link"
refused "$scratch/link" "$scratch/theirs \(user 65534"

# A container's library is the mapped file, whatever lies under its name by now; its copy is named after the sum of what
# was copied.
unshare -m true 2>/dev/null || { echo "no mount namespaces here: a container is not tried"; exit 0; }
export XDG_CACHE_HOME=$scratch/own
mkdir "$scratch/container"
lib=$scratch/container/library.so
begin unshare -m bash -c 'mount -t tmpfs none "$1/container" && cp "$2" "$1/container/library.so" &&
  exec "$3" "$1/container/library.so" -- "$4/gate.lua" "$1" "$4/work.lua" sleep' bash \
  "$scratch" "$build/lib/libluajit-5.1.so.2" "$build/tests/attach/attach_host" "$here/../attach"
ready 1
nsenter -m -t $target bash -c 'mkfifo "$1/fifo" && mount --bind "$1/fifo" "$2"' bash "$scratch" "$lib"
timeout 30 "$tool" --show -x $target lua-calls -r "$scratch/kernel" >"$scratch/out" || fail "a FIFO under the library's name: status $?"
root=$(grep -o -- '--sysroot=[^ ]*' "$scratch/out" | cut -d= -f2)
same "the copy" "$(sha256sum <"$root$lib")" "$(sha256sum <"$build/lib/libluajit-5.1.so.2")"
same "its name" "$root" "$scratch/own/luatrace/root-$(sha256sum <"$root$lib" | cut -c 1-64)"
[ -z "$(find "$scratch/own" -name 'new-*')" ] || fail "something is left in the cache"
