#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The Debian packages: installed next to Debian's own luajit, used, made the default and removed
# again, in a container.
source "$(dirname "$0")/engine.sh"
need_containers

# No errors by lintian, other than about the maintainer's address, which the packager sets.
if command -v lintian >/dev/null; then
  lintian --no-cfg --allow-root --suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog,initial-upload-closes-no-bugs,no-manual-page \
    "$state"/packages/*.deb >"$scratch/lintian" 2>&1 || { cat "$scratch/lintian" >&2; fail "lintian"; }
  grep -E '^[EW]:' "$scratch/lintian" || true
fi
depends=$(dpkg-deb -f "$state"/packages/luatrace_*.deb Depends)
for library in libc6 libstdc++6 libdw1 libboost-program-options; do
  [[ $depends == *$library* ]] || fail "the package luatrace does not depend on $library but on: $depends"
done

mkdir "$scratch/share"
cp "$here/packages_inside.sh" "$state"/packages/*usdt-default*.deb "$checkout"/examples/json*.lua "$scratch/share/"
chmod -R a+rX "$scratch"
started+=(packages)
podman run --rm --name packages --pull never --network none -v "$scratch/share:/share:ro" \
  --entrypoint /bin/bash "$prefix/beside" /share/packages_inside.sh
