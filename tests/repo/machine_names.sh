#!/bin/bash
# SPDX-License-Identifier: MIT
# No file may depend on the machine on which it was written: no absolute path of a checkout, no host
# from which packages were downloaded (mirrors differ, and so do addresses; clients use their own
# configuration).
source "$(dirname "$0")/../lib.sh"
cd "$(dirname "$0")/../.."

# Patterns are spelled so that this file does not match itself.
patterns=$scratch/patterns
cat >"$patterns" <<'END'
(^|[^A-Za-z0-9_.~])/(wor[k]|hom[e]|roo[t]|tmp/[w])/
regist[r]y\.(npmjs|yarnpkg)\.
fil[e]s\.pythonhosted\.
pyp[i]\.org
deb[.]debian\.org
security[.]debian\.org
proxy[.]golang\.org
crat[e]s\.io
rubyg[e]ms\.org
END
# And the hosts in this machine's own configuration.
{
  cat /etc/apt/sources.list /etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list 2>/dev/null || true
  command -v npm >/dev/null && npm config get registry 2>/dev/null || true
} | sed -nE 's#.*https?://([^/ :@]+).*#\1#p' | sort -u | sed 's/\./\\./g' >>"$patterns"
checkout=$PWD
[ "${#checkout}" -lt 8 ] || sed -e 's/[.[\*^$+?(){|]/\\&/g' -e 's/^/(^|[^A-Za-z0-9_.~}])/' <<<"$checkout/" >>"$patterns"

scripts/files | grep -vE '\.(bin|png)$' | tr '\n' '\0' |
  xargs -0 grep -nIE -f "$patterns" -- >"$scratch/found" || true
[ ! -s "$scratch/found" ] || fail "names of a machine: $(cut -c1-160 "$scratch/found" | head -n 20)"

# The search itself works.
printf 'see %s/x\n' "/hom""e/someone" >"$scratch/probe"
grep -qE -f "$patterns" "$scratch/probe" || fail "the patterns find nothing"
