#!/bin/bash
# SPDX-License-Identifier: MIT
# When install_modules.sh skips, and when it must fail.
#   modules_skip.sh NPM
source "$(dirname "$0")/../lib.sh"
here=$(cd "$(dirname "$0")" && pwd)

# outcome STATUS NPM: the installer's status with this npm; nothing counts as installed.
outcome() {
  local status=0
  rm -rf "$scratch/to"
  "$here/install_modules.sh" "$2" "$here" "$scratch/to" >"$scratch/out" 2>&1 || status=$?
  same "status with $2 ($(cat "$scratch/out"))" "$status" "$1"
  [ ! -e "$scratch/to/installed" ] || fail "$2: counts as installed"
}

# The real npm, with a registry behind a port where nobody listens.
export npm_config_registry=http://127.0.0.1:1/ npm_config_fetch_retries=0 npm_config_cache=$scratch/cache
outcome 77 "$1"
grep -q '^SKIP: npm cannot reach or does not trust its registry (ECONNREFUSED)$' "$scratch/out" || fail "no reason: $(cat "$scratch/out")"
PAGE_MODULES=$scratch/to "$here/run_browser.sh" false x 2>"$scratch/err" && fail "a browser test went on" || same "status of a browser test" $? 77
grep -q '^SKIP: npm cannot reach' "$scratch/err" || fail "a browser test does not say why"

# fake NAME LINE: an npm that fails with this line.
fake() {
  printf '#!/bin/sh\necho "%s" >&2\nexit 1\n' "$2" >"$scratch/$1"
  chmod +x "$scratch/$1"
}
fake untrusted 'npm error code SELF_SIGNED_CERT_IN_CHAIN'
outcome 77 "$scratch/untrusted"
fake older 'npm ERR! code UNABLE_TO_GET_ISSUER_CERT_LOCALLY'
outcome 77 "$scratch/older"
fake integrity 'npm error code EINTEGRITY'
outcome 1 "$scratch/integrity"
fake unlocked 'npm error code EUSAGE'
outcome 1 "$scratch/unlocked"
fake gone 'npm error code E404'
outcome 1 "$scratch/gone"
fake chatty 'the word ENOTFOUND alone is no reason'
outcome 1 "$scratch/chatty"
outcome 1 "$scratch/no-such-npm"
