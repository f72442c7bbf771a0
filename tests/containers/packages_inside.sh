#!/bin/bash
# SPDX-License-Identifier: MIT
# The part of packages.sh that runs in the container, which has Debian's luajit
# and our packages; /share has the one that makes ours the default.
set -euo pipefail
fail() { echo "FAIL: $*" >&2; exit 1; }
triplet=$(dpkg-query -L libluajit-5.1-2 | sed -n 's|^/usr/lib/\([^/]*\)$|\1|p')
ours=/usr/lib/$triplet/luajit-usdt/libluajit-5.1.so.2
theirs=$(ldconfig -p | sed -n 's|.*libluajit-5.1.so.2.*=> ||p')
linker_takes() { ldconfig -p | sed -n 's|.*libluajit-5.1.so.2 .*=> ||p' | head -n 1; }

echo "== beside Debian's"
[ "$(linker_takes)" = "$theirs" ] || fail "the linker takes $(linker_takes) before anything was installed"
dpkg -V luajit libluajit-5.1-2 libluajit-5.1-common || fail "files of Debian's packages were changed"
for package in $(dpkg-query -W -f '${Package}\n' | grep -E 'luatrace|usdt'); do
  dpkg -V "$package" || fail "$package is not as it should be"
  dpkg-query -L "$package" | while read -r file; do
    [ -d "$file" ] || [ "$(dpkg -S "$file" 2>/dev/null | wc -l)" = 1 ] || fail "$file is in two packages"
  done
done
luajit -v
luajit-usdt -v | grep >/dev/null 'LuaJIT 2.1' || fail "luajit-usdt -v"
luajit -bl -e 'return 1' >/dev/null || fail "Debian's luajit lost its modules"
luajit-usdt -bl -e 'return 1' >/dev/null || fail "luajit-usdt does not find its modules jit.*"

echo "== the name luajit, by update-alternatives (docs/packages.md)"
update-alternatives --install /usr/local/bin/luajit luajit /usr/bin/luajit-usdt 50 >/dev/null
update-alternatives --install /usr/local/bin/luajit luajit /usr/bin/luajit 40 >/dev/null
hash -r
[ "$(luajit -v)" = "$(luajit-usdt -v)" ] || fail "luajit is not ours"
update-alternatives --set luajit /usr/bin/luajit >/dev/null
[ "$(luajit -v)" = "$(/usr/bin/luajit -v)" ] || fail "luajit is not Debian's"
update-alternatives --remove-all luajit

echo "== one program, by LD_LIBRARY_PATH"
cd /tmp
echo 'function thread_init() end function event() string.rep("x", 10) end' >event.lua
sysbench event.lua --events=1000 --time=0 run >/dev/null
LD_LIBRARY_PATH=${ours%/*} luatrace-record -q -o sysbench.bin -- sysbench event.lua --events=1000 --time=0 run >/dev/null
luatrace-analyze sysbench.bin | grep -E '1,001 .*event.lua:1' # event 1000 times, thread_init once

echo "== recorded"
luatrace-record -o trace.bin -- luajit-usdt /share/json.lua 2
luatrace-analyze --strict --limit=5 trace.bin
luatrace-analyze --flame=flame.html trace.bin >/dev/null && [ -s flame.html ] || fail "no flame graph"

echo "== the default library, and back"
dpkg -i /share/*usdt-default*.deb >/dev/null
[ "$(linker_takes)" = "$ours" ] || fail "the linker takes $(linker_takes) though ours is the default"
dpkg --remove libluajit-5.1-2-usdt-default >/dev/null
[ "$(linker_takes)" = "$theirs" ] || fail "the linker takes $(linker_takes) though ours is no longer the default"

echo "== removed"
apt-get purge -y -q $(dpkg-query -W -f '${Package}\n' | grep -E 'luatrace|usdt') >/dev/null
left=$(find / -xdev \( -path /proc -o -path /share -o -path /packages -o -path /tmp -o -path /var/lib/dpkg/info \) -prune -o \
  \( -name '*luatrace*' -o -name '*luajit-usdt*' -o -name '*luajit-2.1' \) -print |
  while read -r file; do dpkg -S "$file" >/dev/null 2>&1 || echo "$file"; done) # Debian 13 has a folder luajit-2.1
[ -z "$left" ] || fail "left behind: $left"
dpkg -V luajit libluajit-5.1-2 libluajit-5.1-common && luajit -e 'print "Debian'"'"'s luajit still works"'
