#!/bin/bash
# SPDX-License-Identifier: MIT
#
# LuaJIT with musl, as on Alpine, recorded by this build's recorder, which has glibc. Its sites and
# notes are those of lj_ltsdt.h: musl-gcc finds no <sys/sdt.h>.
#
#   musl.sh build SOURCE TO FLAVOUR       into TO/luajits/FLAVOUR a luajit with the shared library, and
#                                         into TO/static one that is static; the C module
#   musl.sh conformance TO CONFORMANCE_TEST MODE    every program of tests/conformance
#   musl.sh recorded TO BUILD FLAVOUR VIA           the same events as those of glibc's luajit
#   musl.sh stack TO BUILD                          deep coroutines in a thread of a static program
#   musl.sh attach TO BUILD FLAVOUR VIA             the same calls, attached to
#   musl.sh module TO BUILD FLAVOUR CXX             the Lua module, with the recorder in luatrace-static
#
# One set of objects is linked in three ways: compiling takes most of the time.
# -DLUAJIT_NO_UNWIND, since Debian's libgcc_eh is made for glibc only.
source "$(dirname "$0")/../lib.sh"
tests=$(cd "$(dirname "$0")/.." && pwd)
command -v musl-gcc >/dev/null || skip "nothing was run with musl: no musl-gcc (musl-tools)"

build() {
  local from=$1 to=$2 luajit=$2/luajits/$3 tree=$scratch/tree objects
  "$tests/../luajit-usdt/scripts/unpack" "$from" "$tree"
  "$tests/../luajit-usdt/scripts/apply" "$tree" >/dev/null
  plain_make -C "$tree" amalg BUILDMODE=dynamic PREFIX=/usr CC=musl-gcc HOST_CC=gcc CCDEBUG= TARGET_STRIP=@: \
    XCFLAGS="-DLUAJIT_USE_SDT -DLUAJIT_NO_UNWIND"
  mkdir -p "$luajit" "$to/static"
  cp "$tree/src/libluajit.so" "$luajit/libluajit-5.1.so.2"
  musl-gcc -Wl,-E -Wl,-rpath,"$luajit" -o "$luajit/luajit" "$tree/src/luajit.o" "$luajit/libluajit-5.1.so.2"
  musl-gcc -static -Wl,-E -o "$to/static/luajit" "$tree"/src/*.o -lm
  mv "$tree/src/luajit.o" "$scratch/"
  musl-gcc -static -Wall -Wextra -I"$tree/src" "$tests/musl/thread.c" "$tree"/src/*.o -lm -o "$to/static/thread"
  ln -sf "$luajit/libluajit-5.1.so.2" "$to/static/"
  musl-gcc -shared -fPIC -Wall -Wextra -I"$tree/src" "$tests/conformance/conformance_module.c" -o "$to/luajits/conformance_module.so"
  readelf -lW "$luajit/luajit" >"$scratch/segments"
  grep -q 'interpreter: .*ld-musl' "$scratch/segments" || fail "$luajit/luajit is not linked with musl"
  readelf -lW "$to/static/luajit" >"$scratch/segments"
  ! grep -q 'interpreter:' "$scratch/segments" || fail "$to/static/luajit is not static"
  "$tests/dropin/notes.sh" "$to/static"
}

conformance() {
  "$tests/options/options.sh" conformance "$1/luajits" "$2" "$3"
}

recorded() {
  local to=$1 build=$2 flavour=$3 via=$4 luajit here
  source "$tests/attach/lib.sh" "$build"
  need_way "$via"
  # events NAME LUAJIT OPTION...: each event, without times
  events() {
    local name=$scratch/$1
    shift
    "$bin/luatrace-record" -q --via "$via" -o "$name.bin" -- "$@" -e "dofile('$tests/attach/work.lua')()"
    no_anomalies "$name.bin"
    "$bin/luatrace-analyze" --dump=calls "$name.bin" >"$name"
    [ "$(grep -c ' entry work\.lua:7$' "$name")" = 21891 ] || fail "$1: fib(20) is 21,891 calls"
  }
  for jit in -joff -Ohotloop=1; do
    events glibc "$build/luajit/$flavour/luajit" $jit
    for luajit in "$to/luajits/$flavour/luajit" "$to/static/luajit"; do
      events musl "$luajit" $jit
      cmp "$scratch/glibc" "$scratch/musl" >&2 || fail "$luajit $jit has other events by $via than glibc's"
    done
  done
}

# As the main thread in tests/hostile/c_stack.sh: what has some stack to spare untraced runs traced, too.
stack() {
  local thread=$1/static/thread record=$2/bin/luatrace-record
  cat >"$scratch/nest.lua" <<'END'
local function nest(k)
  if k == 0 then return 0 end
  local ok, v = coroutine.resume(coroutine.create(nest), k - 1)
  return ok and 1 + v or error(v, 0)
end
print(pcall(nest, tonumber(arg)))
END
  for case in "1500 true	1500" "20000 false	stack overflow"; do
    "$record" -q -o "$scratch/trace.bin" -- "$thread" 256 "$scratch/nest.lua" "${case%% *}" >"$scratch/said" || fail "${case%% *} coroutines: status $?"
    same "what ${case%% *} coroutines say" "$(cat "$scratch/said")" "${case#* }"
  done
}

# The module has only headers of the C++ library: Debian's, made for glibc, and musl's C headers.
# Recorder and analyzer are programs of their own: where there is musl only, luatrace-static.
module() {
  local to=$1 build=$2 luajit=$1/luajits/$3 cxx=$4 root programs=$scratch/programs case failed=
  root=$(cd "$tests/.." && pwd)
  local specs=/usr/lib/$(gcc -dumpmachine | sed 's/-.*//')-linux-musl/musl-gcc.specs
  [ -e "$specs" ] || skip "no $specs"
  [ -e "$build/bin/luatrace-static" ] || skip "luatrace-static was not built"
  mkdir -p "$to/module" "$programs"
  # shellcheck disable=SC2046  # a list of folders
  "$cxx" -specs="$specs" -nostdinc++ $("$cxx" -E -x c++ -v /dev/null 2>&1 | sed -n 's|^ \(/.*/c++/[0-9]*\)$|-isystem \1|p') \
    -isystem "${specs%/lib/*}/include/$(basename "$(dirname "$specs")")" '-D__GLIBC_PREREQ(a,b)=0' \
    -std=c++20 -O1 -Wall -Wextra -fPIC -fvisibility=hidden -fno-exceptions -fno-rtti -I"$root" -I"$build/luajit/$3/include/luajit-2.1" \
    -shared -nodefaultlibs "$root"/module/*.cc -o "$to/module/luatrace.so" -lc
  cp "$luajit/luajit" "$programs/"
  for case in record analyze; do ln -s "$build/bin/luatrace-static" "$programs/luatrace-$case"; done
  export PATH=$programs:/usr/bin:/bin LUA_PATH="$tests/module/?.lua" LUA_CPATH="$to/module/?.so"
  for case in "$tests"/module/cases/*.lua; do
    "$tests/module/run.sh" "$case" >"$scratch/log" 2>&1 || { failed+=" ${case##*/}"; tail -n 5 "$scratch/log" >&2; }
  done
  [ -z "$failed" ] || fail "with musl:$failed"
}

attach() {
  "$tests/attach/counts.sh" "$2" "$1/luajits/$3/luajit" "$4"
}

"$@"
