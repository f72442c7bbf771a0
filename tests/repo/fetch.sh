#!/bin/bash
# SPDX-License-Identifier: MIT
# How the sources are found: source lists are turned into deb-src lists of the wanted release; a
# file with the wrong checksum is never used. No network.
source "$(dirname "$0")/../lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
scripts=$root/luajit-usdt/scripts

convert() { awk -v format="$1" -v release=trixie -v trusted="$2" -f "$scripts/deb-src.awk"; }

same "deb822 lists" "$(convert deb822 0 <<'END'
# the archive
Types: deb deb-src
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main contrib
Architectures: amd64
Signed-By:
 -----BEGIN KEY-----
 abc

Types: deb
URIs: http://mirror.example/security
Suites: bookworm-security
Components: main

Enabled: no
Types: deb
URIs: http://off.example/debian
Suites: bookworm
Components: main

Types: deb
URIs: http://third-party.example/
Suites: bookworm
Components: stable
END
)" "Types: deb-src
Suites: trixie
Components: main
URIs: http://mirror.example/debian
Signed-By:
 -----BEGIN KEY-----
 abc"

lines='deb [arch=amd64 signed-by=/k.gpg] http://m.example/debian bookworm main contrib # why
# deb http://off.example/ bookworm main
deb http://m.example/security bookworm-security main
deb http://m2.example/debian/ stable main'
same "one-line lists" "$(convert oneline 0 <<<"$lines")" "deb-src [ signed-by=/k.gpg ] http://m.example/debian trixie main
deb-src http://m2.example/debian/ trixie main"
same "unsigned lists" "$(convert oneline 1 <<<"$lines" | head -n 1)" \
  "deb-src [ trusted=yes signed-by=/k.gpg ] http://m.example/debian trixie main"

refuses "unknown flavour 'nonsense'; known: openresty-20250117" "$scripts/fetch" nonsense "$scratch/none"
refuses "usage" "$scripts/fetch"

# Without apt-get only a file that is already there can help, and only the
# right one. PATH holds just what the script needs.
mkdir "$scratch/bin" "$scratch/downloads"
for tool in bash awk sed sha256sum mkdir dirname cat; do ln -s "$(command -v "$tool")" "$scratch/bin/"; done
fetch() { env PATH="$scratch/bin" bash "$scripts/fetch" openresty-20250117 "$scratch/downloads"; }
refuses "no apt-get on this machine; put luajit_.*into $scratch/downloads" fetch
name=$(awk '$1 == "openresty-20250117" { print $4 }' "$root/luajit-usdt/flavours.conf")
echo "not a tarball" >"$scratch/downloads/$name"
refuses "no apt-get on this machine" fetch

# A git flavour: the commit is made into a tarball; a copy that is put there will do; a wrong one,
# or a repository that cannot be reached, will not.
if command -v git >/dev/null; then
  mkdir -p "$scratch/own/scripts" "$scratch/upstream/src"
  cp "$scripts/fetch" "$scratch/own/scripts/"
  git -C "$scratch/upstream" init -q
  git -C "$scratch/upstream" config uploadpack.allowAnySHA1InWant true
  echo 'int x;' >"$scratch/upstream/src/x.c"
  git -C "$scratch/upstream" add src
  git -C "$scratch/upstream" -c user.name=x -c user.email=x@example commit -q -m x
  commit=$(git -C "$scratch/upstream" rev-parse HEAD)
  git -C "$scratch/upstream" -c tar.umask=0002 archive --format=tar --prefix="LuaJIT-${commit:0:8}/" HEAD >"$scratch/x.tar"
  flavour() { echo "toy git=$scratch/$1 $commit toy.tar $(sha256sum "$scratch/$2" | cut -d' ' -f1)" >"$scratch/own/flavours.conf"; }
  flavour upstream x.tar
  same "tarball of a commit" "$("$scratch/own/scripts/fetch" toy "$scratch/git" 2>"$scratch/err" || cat "$scratch/err")" "$scratch/git/toy.tar"
  cmp "$scratch/x.tar" "$scratch/git/toy.tar"
  flavour nowhere x.tar
  same "second time" "$("$scratch/own/scripts/fetch" toy "$scratch/git")" "$scratch/git/toy.tar"
  refuses "could not get commit $commit of $scratch/nowhere; check the network, or put toy.tar" "$scratch/own/scripts/fetch" toy "$scratch/git2"
  xz -c "$scratch/x.tar" >"$scratch/git2/toy.tar.xz"
  same "compressed copy" "$("$scratch/own/scripts/fetch" toy "$scratch/git2")" "$scratch/git2/toy.tar"
  flavour nowhere err
  refuses "toy.tar.xz has the wrong contents: not used" "$scratch/own/scripts/fetch" toy "$scratch/git2"
fi
