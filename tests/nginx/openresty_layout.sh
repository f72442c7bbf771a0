#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What docs/openresty.md says of OpenResty's images works in their layout, made of Debian's nginx:
# everything is in /usr/local/openresty, the library is found by RUNPATH and has its own version's
# name. The library mounted over it is recorded from outside and from a sidecar.
# images/check tells the library from theirs, and from one that was built with other options.
#   openresty_layout.sh SOURCE BUILD THEIR-LIBRARY LIBRARY-WITH-OTHER-OPTIONS
source "$(dirname "$0")/../lib.sh"
source=$1 build=$2 theirs=$3 other=$4
[ "$(id -u)" = 0 ] || skip "mounting needs root"
command -v curl >/dev/null || skip "curl is not installed (scripts/deps --test)"
unshare -pm --fork true 2>/dev/null || skip "no namespaces here"
root=$build/nginx/layout
"$source/tests/nginx/unpack" "$root" || skip "Debian's nginx cannot be downloaded"
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')

# The tree of an image.
tree=$scratch/openresty lib=/usr/local/openresty/luajit/lib name=libluajit-5.1.so.2.1.ROLLING
mkdir -p "$tree"/{bin,lualib,luajit/lib,nginx/{sbin,conf,logs,modules,temporary}}
cp "$root/usr/sbin/nginx" "$tree/nginx/sbin/"
cp "$root"/usr/lib/nginx/modules/{ndk_http,ngx_http_lua}_module.so "$tree/nginx/modules/"
cp -r "$root/usr/share/lua/5.1/." "$tree/lualib/"
cp "$theirs" "$tree/luajit/lib/$name"
ln -s $name "$tree/luajit/lib/libluajit-5.1.so.2"
ln -s ../nginx/sbin/nginx "$tree/bin/openresty"
"$root/usr/bin/patchelf" --set-rpath $lib "$tree/nginx/modules/ngx_http_lua_module.so"
readelf -d "$tree/nginx/modules/ngx_http_lua_module.so" | grep "RUNPATH.*$lib" >/dev/null || fail "no RUNPATH"
cat >"$tree/nginx/conf/nginx.conf" <<END
load_module modules/ndk_http_module.so;
load_module modules/ngx_http_lua_module.so;
user root;
worker_processes 1;
pid logs/nginx.pid;
events {}
http {
  lua_package_path "/usr/local/openresty/lualib/?.lua;;";
  access_log off;
  client_body_temp_path temporary/body; proxy_temp_path temporary/proxy; fastcgi_temp_path temporary/fastcgi;
  uwsgi_temp_path temporary/uwsgi; scgi_temp_path temporary/scgi;
  server {
    listen 127.0.0.1:$port;
    location / { content_by_lua_block { ngx.sleep(0.001) ngx.say("hello") } }
  }
}
END

# inside LIBRARY COMMAND...: in a container's processes and files, with the library (if any) over theirs.
inside() {
  LIBRARY=$1 exec unshare -pm --fork --kill-child --mount-proc bash -c '
    mount -t tmpfs tmpfs /usr/local && mkdir /usr/local/openresty && mount --bind "$0" /usr/local/openresty
    [ -z "$LIBRARY" ] || mount --bind "$LIBRARY" '"$lib/$name"'
    export LD_LIBRARY_PATH="$1/usr/lib/x86_64-linux-gnu:$1/lib/x86_64-linux-gnu"
    exec "${@:2}"' "$tree" "$root" "${@:2}"
}
serve() { # [LIBRARY]
  inside "${1-}" /usr/local/openresty/bin/openresty -p /usr/local/openresty/nginx/ -c conf/nginx.conf -g "daemon off;" \
    2>"$scratch/nginx.err" &
  container=$!
  started+=($container)
  within 20 "nginx to answer" curl -sf -o "$scratch/answer" "http://127.0.0.1:$port/"
  master=$(pgrep -P $container -f 'master process')
}
stop() {
  kill -QUIT "$master"
  wait $container || true
}
load() { while curl -sf -o "$scratch/answer" "http://127.0.0.1:$port/"; do :; done; }
check() { # NAME OF THE TRACE
  "$build/bin/luatrace-analyze" -q --json --sysroot "/proc/$master/root" "$scratch/$1.bin" >"$scratch/json"
  jq -e '[.functions[] | select(.calls > 0) | .name] | contains(["ngx.sleep", "ngx.say"])' "$scratch/json" >/dev/null ||
    fail "$1: $(jq -c '[.functions[].name]' "$scratch/json")"
  same "$1: anomalies" "$(jq .trust.anomalies "$scratch/json")" 0
}

# facts NAME LIBRARY; differs NAME: the names of the facts that are others than theirs, after the status
facts() { (inside "$2" sh "$source/images/facts.sh") >"$scratch/facts.$1"; }
differs() {
  local status=0
  "$source/images/check" --facts "$scratch/facts.$1" "$scratch/facts.theirs" >"$scratch/check" || status=$?
  echo "$status" $(sed -n 's/^  \(.*\): .* instead of .*/\1/p' "$scratch/check") "$(tail -n 1 "$scratch/check")"
}
facts theirs ""
facts ours "$build/lib/libluajit-5.1.so.2"
facts other "$other"
same "check of the image as it is" "$(differs theirs)" "1 no: the LuaJIT of $scratch/facts.theirs has no tracepoints"
same "check of our library" "$(differs ours)" "0 yes"
same "check of a library with other options" "$(differs other)" \
  "1 LUAJIT_ENABLE_LUA52COMPAT LUAJIT_NUMMODE=2 no: these differ from $scratch/facts.theirs"

serve
status=0
"$build/bin/luatrace-record" -q -o "$scratch/none.bin" -p "$master" -d 1 2>"$scratch/err" || status=$?
same "the image as it is: status ($(cat "$scratch/err"))" $status 122
stop

serve "$build/lib/libluajit-5.1.so.2"
grep -q "$lib/$name" "/proc/$master/maps" || fail "another library: $(grep luajit "/proc/$master/maps")"
load &
started+=($!)
"$build/bin/luatrace-record" -q -o "$scratch/host.bin" -p "$master" --children -d 1
check host
# The sidecar: the container's processes, files of its own.
nsenter -t "$master" --pid unshare -m --propagation private bash -c '
  mount -t proc proc /proc && exec "$1" -q -o "$2" -p 1 --children -d 1' bash "$build/bin/luatrace-record" "$scratch/sidecar.bin"
check sidecar
stop
