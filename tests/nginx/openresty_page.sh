#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The commands of docs/openresty.md work, in the order given there, with Debian's nginx, and name the
# plugin that computes and the one that waits. Nothing is installed: see unpack.
#   openresty_page.sh SOURCE BUILD
source "$(dirname "$0")/../lib.sh"
source=$1 build=$2
for program in wrk curl apt-get; do
  command -v $program >/dev/null || skip "$program is not installed (scripts/deps --test)"
done
root=$build/nginx/root
"$source/tests/nginx/unpack" "$root" || skip "Debian's nginx cannot be downloaded"

cd "$scratch"
stop_nginx() { [ ! -s shop/nginx.pid ] || kill "$(cat shop/nginx.pid)" 2>/dev/null || true; }
trap 'stop_nginx; end_started; rm -rf "$scratch"' EXIT
ln -s "$build" build

# The unpacked nginx instead of an installed one, and a free port. Workers of root's nginx stay
# root's: its modules may be in a folder that only root can read.
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
cp -r "$source/examples" examples
sed -i "s|load_module |&$root|; s|8085|$port|" examples/nginx/nginx.conf examples/nginx/plugins/session.lua
[ "$(id -u)" -ne 0 ] || sed -i 's/^worker_processes/user root; &/' examples/nginx/nginx.conf
mkdir bin
cat >bin/nginx <<END
#!/bin/sh
export LD_LIBRARY_PATH="\$LD_LIBRARY_PATH:$root/usr/lib/x86_64-linux-gnu:$root/lib/x86_64-linux-gnu"
export LUA_PATH="$root/usr/share/lua/5.1/?.lua;;"
exec $root/usr/sbin/nginx "\$@"
END
chmod +x bin/nginx

awk '/^```sh$/ { on = 1; next } /^```$/ { on = 0 } on' "$source/docs/openresty.md" | sed "s|8085|$port|" >commands
[ "$(wc -l <commands)" -ge 12 ] || fail "only $(wc -l <commands) commands found in docs/openresty.md"
PATH=$scratch/bin:$PATH bash -ex commands >out 2>err || fail "status $? of the commands:
$(cat out err shop/error.log)"
! grep -F '[error]' shop/error.log || fail "nginx has logged errors"
[ -s shop.html ] || fail "no page"

analyze() { build/bin/luatrace-analyze -q --json "$@" shop.bin; }
same "groups" '["limits","prices","session"]' \
  "$(analyze --report --group-by 'plugins/([^/.]+)' | jq -c '[.report[].name | select(. != "[other]")] | sort')"
same "plugins" '["[no plugin]","limits","prices","session"]' \
  "$(analyze --report --group-by plugin --plugin 'plugins/*.lua' | jq -c '[.report[].name] | sort')"
analyze --report --group-by phase | jq -e '[.report[] | select(.self_ns > 0) | .name] | contains(["access", "content"])' >/dev/null ||
  fail "phases: $(analyze --report --group-by phase | jq -c '[.report[] | [.name, .self_ns]]')"
analyze --waits >waits.json
for name in ngx.sleep receive; do
  jq -e --arg name $name '.waits | any(.name | endswith($name))' waits.json >/dev/null ||
    fail "no wait in $name: $(jq -c '[.waits[].name]' waits.json)"
done
for word in 'access_by_lua(nginx.conf:38)' 'content_by_lua(nginx.conf:42)' prices.render session.check; do
  grep -F "$word" out >/dev/null || fail "'$word' is not in the output: $(cat out)"
done
