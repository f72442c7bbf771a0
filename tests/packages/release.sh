#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The packages of another release of Debian (packaging/release), installed and used in a root of it
# that has nothing else: tests/containers/packages_inside.sh, as for this machine's release. On demand:
# building them takes minutes.
#
#   packaging/release trixie build-trixie && tests/packages/release.sh build-trixie
source "$(dirname "$0")/../lib.sh"
built=$(realpath "$1")
checkout=$(cd "$(dirname "$0")/../.." && pwd)
[ "$(id -u)" = 0 ] || skip "only root can use a root of another release"
root=$scratch/root
mkdir "$root"
tar -C "$root" --numeric-owner -xf "$built/clean.tar"
mkdir "$root"/{share,packages}
cp "$checkout"/tests/containers/packages_inside.sh "$built"/packages/*usdt-default*.deb "$checkout"/examples/json*.lua "$root/share/"
cp "$built"/packages/*.deb "$root/packages/"
rm "$root"/packages/*usdt-default*.deb
# Debian 13 has these modules in its own package, which the other packages of ours take.
rm "$root"/packages/luajit-usdt-common*.deb
cat >"$root/share/run.sh" <<'END'
set -euo pipefail
. /etc/os-release
echo "== $PRETTY_NAME"
apt-get update -q >/dev/null
apt-get install -y -q --no-install-recommends luajit sysbench >/dev/null
cd /packages
apt-get install -y -q --no-install-recommends ./*.deb >/dev/null
dpkg-query -W -f '${Package} ${Version}\n' | grep -E 'luatrace|usdt'
bash /share/packages_inside.sh
END
unshare -m -p -f --propagation private /bin/bash -c '
  mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$0" "$@"' "$root" \
  /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive bash /share/run.sh
