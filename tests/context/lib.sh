# SPDX-License-Identifier: MIT
# Shared by the tests of thread contexts: builds the reader, the module `truth` and the host, and
# starts programs that say what is true. Invariant: what is started ends by itself after 300 s.
#
#   build BUILD_OF_FLAVOUR COMPILER     $scratch/reader, truth.so, host, host.so, loader, lib/ (stripped)
#   start COMMAND...      $pid is its process, once it says that it runs
#   reads N               the reader compares N samples of $pid with the truth, and none is wrong
#   source it with the directory of the tests in $here
[ "$(uname -m)" = x86_64 ] || skip "the reader is for x86-64"
export TRUTH=$scratch/truth LUA_CPATH="$scratch/?.so"

build() {
  local flavour=$1 cc=$2 headers=$1/include/luajit-2.1 flags=(-std=gnu11 -O1 -g -Wall -Wextra -Werror)
  [ -e "$flavour/libluajit-5.1.so.2" ] || skip "there is no shared library"
  mkdir -p "$scratch/lib"
  cp "$flavour/libluajit-5.1.so.2" "$scratch/lib/"
  strip "$scratch/lib/libluajit-5.1.so.2"
  ln -sf libluajit-5.1.so.2 "$scratch/lib/libluajit-5.1.so"
  "$cc" "${flags[@]}" -I"$here/../../luajit-usdt/src" "$here/reader.c" -o "$scratch/reader"
  "$cc" "${flags[@]}" -fPIC -shared -I"$headers" "$here/truth.c" -o "$scratch/truth.so"
  "$cc" "${flags[@]}" -I"$headers" "$here/host.c" "$here/truth.c" -o "$scratch/host" \
    -L"$scratch/lib" -Wl,-rpath,"$scratch/lib" -lluajit-5.1 -lpthread
  "$cc" "${flags[@]}" -fPIC -shared -I"$headers" "$here/host.c" "$here/truth.c" -o "$scratch/host.so" \
    -L"$scratch/lib" -Wl,-rpath,"$scratch/lib" -lluajit-5.1 -lpthread
  "$cc" "${flags[@]}" "$here/loader.c" -o "$scratch/loader" -ldl
}

is_started() { [ "$(od -An -tu4 -N4 "$TRUTH" | tr -d ' ')" = 1 ]; }
start() {
  rm -f "$TRUTH"
  truncate -s 64K "$TRUTH"
  "$@" &
  pid=$!
  started+=("$pid")
  within 60 "$1 to start" is_started
}

reads() {
  timeout 300 "$scratch/reader" "$pid" "$TRUTH" "$1" >"$scratch/read" 2>&1 ||
    { cat "$scratch/read"; fail "the contexts of process $pid are wrong"; }
  cat "$scratch/read"
}
looks() { # looks WHAT: none, null
  timeout 60 "$scratch/reader" "$pid" "$1" >"$scratch/read" 2>&1 ||
    { cat "$scratch/read"; fail "process $pid should have no context ($1)"; }
}
