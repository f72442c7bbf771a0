#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Makes the images of the container tests, once per build folder.
#
#   setup.sh BUILD TARBALLS        TARBALLS: where LuaJIT's sources are kept
#
#   base     Debian, of this machine's release, from the mirror that apt uses here
#   nginx    base with nginx and its Lua module: what a user may have
#   traced   nginx, changed by images/build
#   tools    base with bpftrace and our Debian packages: a sidecar
#   beside   base with Debian's luajit, a program that uses its library, and our Debian packages
#
# Leaves BUILD/containers/ready, or BUILD/containers/unavailable with the reason
# and status 77. No registry is used.
source "$(dirname "$0")/engine.sh"
tarballs=$2

unavailable() {
  echo "$*" >"$state/unavailable"
  skip "$*"
}

# run LOG COMMAND: its output goes to a file, whose end is shown if it fails.
run() {
  local log=$state/$1.log
  shift
  timeout 900 "$@" >"$log" 2>&1 || { tail -n 30 "$log" >&2; return 1; }
}

write_configuration() {
  mkdir -p "$state"/{storage,run,locks}
  cat >"$state/storage.conf" <<END
[storage]
driver = "overlay"
graphroot = "$state/storage"
runroot = "$state/run"
END
  # Locks of its own: other users of podman on this machine are not disturbed.
  # The limits: root may lack the right to raise them (CAP_SYS_RESOURCE).
  cat >"$state/containers.conf" <<END
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
log_driver = "k8s-file"
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
lock_type = "file"
tmp_dir = "$state/locks"
END
}

# The lines of sources.list that this machine's own Debian comes from.
mirrors() {
  apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
    awk -v r="$codename" '$3 == r || index($3, r "-") == 1' | sort -u
}

make_base() {
  local mirror
  mirror=$(mirrors | awk -v r="$codename" '$3 == r && $4 == "main" && !n++ { print $2 }')
  [ -n "$mirror" ] || unavailable "apt has no mirror of $codename here"
  unmount_below "$state/base" # of a debootstrap that was killed
  rm -rf "$state/base"
  run debootstrap debootstrap --variant=minbase --include=ca-certificates "$codename" "$state/base" "$mirror" ||
    unavailable "debootstrap cannot make a base image here: $(tail -n 1 "$state/debootstrap.log")"
  mirrors >"$state/base/etc/apt/sources.list"
  echo force-unsafe-io >"$state/base/etc/dpkg/dpkg.cfg.d/unsafe-io" # nobody needs these images after a crash
  apt-config dump | grep -E '^Acquire::(http|https|Check-Valid-Until|Retries)' >"$state/base/etc/apt/apt.conf.d/90host" || true
  tar -C "$state/base" --numeric-owner -c . | run import podman import - "$prefix/base"
  rm -rf "$state/base"
}

can_run() {
  podman run --rm --pull never --network none --read-only --user 33:33 "$prefix/base" /bin/true >"$state/run.log" 2>&1 ||
    unavailable "podman cannot run a container here: $(tail -n 1 "$state/run.log")"
}

image() {
  local name=$1
  shift
  run "$name" podman build --pull=never --network=host -t "$prefix/$name" "$@"
}

rm -f "$state/ready" "$state/unavailable"
mkdir -p "$state"
[ "$(id -u)" = 0 ] || unavailable "containers are traced from the host by root"
for program in podman runc debootstrap wrk nsenter; do
  command -v $program >/dev/null || unavailable "$program is not installed (scripts/deps --test)"
done
codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
write_configuration
podman image exists "$prefix/base" || make_base
can_run
# The packages of this build folder; the default one is for packages.sh to try.
make_packages() {
  rm -rf "$state/cpack" "$state/packages"
  run packages cpack --config "$build/CPackConfig.cmake" -B "$state/cpack"
  mkdir -p "$state/packages"
  cp "$state"/cpack/*.deb "$state/packages/"
  rm -rf "$state/cpack"
}
# with_packages IMAGE MORE: base, with MORE of Debian's packages and then all of ours.
with_packages() {
  image "$1" --build-arg BASE="$prefix/base" --build-arg MORE="$2" --build-arg PACKAGES="$ours" \
    -f "$here/Containerfile.tools" "$state/packages"
}

image nginx --build-arg BASE="$prefix/base" -f "$here/Containerfile.nginx" "$here"
run traced "$checkout/images/build" --engine podman debian "$prefix/nginx" "$prefix/traced" -- --pull=never --network=host \
  --build-arg BUILDER="$prefix/base" --build-arg MULTILIB="lib/$(gcc -print-multiarch)" --volume "$tarballs:/tarballs"
make_packages
ours=$(cd "$state/packages" && ls ./*.deb | grep -v usdt-default | xargs)
with_packages tools "bpftrace"
with_packages beside "luajit sysbench"
podman image prune -f --filter dangling=true --filter until=240h >/dev/null 2>&1 || true
podman images --format '{{.Repository}} {{.Size}}' | grep "^$prefix/" | sort
touch "$state/ready"
