#!/bin/bash
# SPDX-License-Identifier: MIT
# How the sources are found: source lists are turned into deb-src lists of the
# wanted release; a file with the wrong checksum is never used. No network.
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
