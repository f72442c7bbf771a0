# SPDX-License-Identifier: MIT
# Debian's nginx for a test. Source it after tests/lib.sh, with $source and $build set. Nothing is
# installed: see unpack. Then the test is in $scratch, and nginx is unpacked in $root.
#
#   start_nginx CONF USER PAGE   starts nginx with this configuration, where ROOT, PORT and the line
#                                USER are replaced, and waits until it serves PAGE
#   answers                      nginx serves that page
#
# After the start, $port is nginx's port, $master its process.
for program in curl apt-get; do
  command -v $program >/dev/null || skip "$program is not installed (scripts/deps --test)"
done
root=$build/nginx/root
"$source/tests/nginx/unpack" "$root" || skip "Debian's nginx cannot be downloaded"
cd "$scratch"

start_nginx() {
  port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  page=$3
  mkdir temporary
  sed "s|ROOT|$root|; s|PORT|$port|; s|^USER|$2|" "$1" >nginx.conf
  export LD_LIBRARY_PATH=$build/lib:$root/usr/lib/x86_64-linux-gnu:$root/lib/x86_64-linux-gnu
  export LUA_PATH="$root/usr/share/lua/5.1/?.lua;;"
  "$root/usr/sbin/nginx" -p "$scratch" -c nginx.conf -e error.log -g 'daemon off;' &
  master=$!
  started+=($master)
  within 20 nginx answers
}
answers() { curl -s -m 30 -o /dev/null "http://127.0.0.1:$port/$page"; }
