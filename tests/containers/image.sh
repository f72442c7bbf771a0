#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The image that images/build makes: the user's image,
# with another LuaJIT, and nothing else of ours.
source "$(dirname "$0")/engine.sh"
need_containers

# The paths that differ between two images; folders' times do not count.
files_of() {
  podman run --rm --pull never --network none --user 0 --entrypoint /bin/sh "$prefix/$1" -c \
    'find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /run -o -path /etc/mtab -o -path /etc/hosts -o -path /etc/hostname \
       -o -path /etc/resolv.conf \) -prune -o \( -type f -o -type l \) -printf "%p %y %s %T@\n" | LC_ALL=C sort'
}
files_of nginx >"$scratch/before"
files_of traced >"$scratch/after"
changed=$(LC_ALL=C comm -13 "$scratch/before" "$scratch/after" | cut -d' ' -f1 | grep -v '/share/luajit-2.1/jit/[a-z_0-9]*\.lua$')
same "the files the traced image adds" "$changed" "/usr/lib/$(gcc -print-multiarch)/libluajit-5.1.so.2"

# It is stripped, and nginx uses it.
podman run --rm --pull never --network none --entrypoint /bin/cat "$prefix/traced" "$changed" >"$scratch/library"
! readelf -SW "$scratch/library" | grep -E '\.(symtab|debug)' || fail "the library is not stripped"
readelf -n "$scratch/library" | grep >/dev/null 'Provider: luajit' || fail "the library has no tracepoints"
run_nginx image-nginx
grep -q " $changed\$" "/proc/$(workers image-nginx | head -n 1)/maps" || fail "nginx does not use $changed"
load image-nginx
[ "$(stat -c %u "/proc/$(workers image-nginx | head -n 1)")" = 33 ] || fail "nginx does not run as www-data"

# The user's image as it is, with the library mounted instead.
mkdir "$scratch/lib"
cp "$scratch/library" "$scratch/lib/libluajit-5.1.so.2"
image=nginx run_nginx image-mounted -v "$scratch/lib:/opt/luatrace/lib:ro" -e LD_LIBRARY_PATH=/opt/luatrace/lib
grep -q ' /opt/luatrace/lib/libluajit-5.1.so.2$' "/proc/$(workers image-mounted | head -n 1)/maps" || fail "nginx does not use the mounted library"
load image-mounted

# What images/check says: this image has the nearest LuaJIT that there is, and the other has no tracepoints.
status=0
"$checkout/images/check" --engine podman "$prefix/traced" "$prefix/nginx" >"$scratch/check" || status=$?
same "status of the check ($(cat "$scratch/check"))" $status 1
same "what differs" "$(sed -n 's/^  \(.*\): .* instead of .*/\1/p' "$scratch/check" | xargs)" "version paths"
status=0
"$checkout/images/check" --engine podman "$prefix/nginx" >"$scratch/check" || status=$?
same "the last line for the image as it is" "$status $(tail -n 1 "$scratch/check")" "1 no: the LuaJIT of $prefix/nginx has no tracepoints"
status=0
"$checkout/images/check" --engine podman "$prefix/base" 2>"$scratch/check" || status=$?
same "status for an image without nginx ($(cat "$scratch/check"))" $status 2

# An image without LuaJIT at that place is refused, not broken.
refuses "libluajit-5.1.so.2" "$checkout/images/build" --engine podman debian "$prefix/base" "$prefix/none" -- --pull=never \
  --network=none --build-arg BUILDER="$prefix/base" --build-arg MULTILIB=lib
grep "libluajit" "$scratch/err"
echo "only $changed differs"
