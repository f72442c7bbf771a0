#!/bin/bash
# SPDX-License-Identifier: MIT
#
#   install_modules.sh NPM FROM TO
#
# Installs into the folder TO exactly what FROM/package-lock.json says. If TO
# was installed from the same lock file, it stays, so that only the first run
# needs the network.
#
# Invariant: skipped (77) only if npm is unable to talk to its registry: no
# route, no name, no answer, a certificate that node does not trust. Anything
# else that goes wrong is a failure. If skipped, TO/unreachable holds the
# reason, for the tests that need the modules.
set -euo pipefail
npm=$1 from=$2 to=$3

if cmp -s "$from/package-lock.json" "$to/installed"; then
  echo "up to date"
  exit 0
fi
command -v "$npm" >/dev/null || {
  echo "npm was not found: install it (Debian: apt-get install nodejs npm) and run cmake again" >&2
  exit 1
}
rm -rf "$to"
mkdir -p "$to"
cp "$from/package.json" "$from/package-lock.json" "$to"
if (cd "$to" && "$npm" ci --ignore-scripts --no-audit --no-fund) >"$to/log" 2>&1; then
  cp "$from/package-lock.json" "$to/installed"
  exit 0
fi
# npm names the reason on a line of its own: "npm error code ENOTFOUND" ("ERR!" in older versions).
network='ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET_TIMEOUT|ERR_SOCKET_CLOSED'
trust='SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_[A-Z_]*|CERT_[A-Z_]*|ERR_TLS_[A-Z_]*'
code=$(sed -nE "s/^npm (ERR!|error) code ($network|$trust)\$/\2/p" "$to/log" | head -n 1)
if [ -n "$code" ]; then
  echo "npm cannot reach or does not trust its registry ($code)" >"$to/unreachable"
  echo "SKIP: $(cat "$to/unreachable")" >&2
  exit 77
fi
tail -n 30 "$to/log" >&2
echo "npm ci failed in $to; the whole log is $to/log" >&2
exit 1
