#!/bin/bash
# SPDX-License-Identifier: MIT
#
# -DLUAJIT_SOURCE_DIR= through CMake itself: a user's tree is built with
# tracepoints and stays exactly as it was; a wrong tree is refused clearly.
#
#   own_tree.sh CMAKE TARBALL_OR_TREE
source "$(dirname "$0")/../lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
cmake=$1
own="$scratch/my luajit" # a blank: people have such folders
build=$scratch/build

# A compiler that takes half the time: what is compiled matters here, not how well.
printf '#!/bin/sh\nexec gcc "$@" -O1\n' >"$scratch/quick-gcc"
chmod +x "$scratch/quick-gcc"
configure() {
  rm -rf "$build"
  "$cmake" -S "$root" -B "$build" -G Ninja "-DCMAKE_C_COMPILER=$scratch/quick-gcc" -DLUAJIT_VARIANTS=patched \
    "-DLUAJIT_SOURCE_DIR=$1"
}
# Every file with its contents, rights and time.
state_of() { (cd "$1" && find . -printf '%p %M %T@ %l\n' | sort && find . -type f -print0 | sort -z | xargs -0 sha256sum); }

"$root/luajit-usdt/scripts/unpack" "$2" "$own"
echo 'a file of the user' >"$own/src/notes.txt"
state_of "$own" >"$scratch/before"
configure "$own" >"$scratch/log" 2>&1 || { tail -n 20 "$scratch/log"; fail "cmake refuses a good tree"; }
grep -q "^-- LuaJIT: $own (like " "$scratch/log" || fail "cmake does not print which tree it uses"
"$cmake" --build "$build" --target luajit-products >"$scratch/log" 2>&1 || { tail -n 20 "$scratch/log"; fail "the build"; }
state_of "$own" >"$scratch/after"
diff "$scratch/before" "$scratch/after" || fail "the user's tree was modified"
same output "$("$build/bin/luajit" -e 'print(1 + 1)')" 2
for file in bin/luajit lib/libluajit-5.1.so.2; do
  readelf -n "$build/$file" >"$scratch/notes"
  for probe in function__entry function__return coroutine__resume; do
    grep -q "Name: $probe\$" "$scratch/notes" || fail "$file has no probe $probe"
  done
done

# A change in the user's tree would be built (which takes too long to do it here).
header=$own/src/luajit_rolling.h
[ -e "$header" ] || header=$own/src/luajit.h
sed -i '/^#define LUAJIT_COPYRIGHT/s/"Copyright/"MINE Copyright/' "$header"
grep -E '^build .*luajit/own\.stamp' "$build/build.ninja" >"$scratch/log" || fail "no rule for the user's tree"
grep -q "src/$(basename "$header")" "$scratch/log" || fail "a change of the user's tree would not be built: $(cat "$scratch/log")"

# Wrong trees: the reason is printed, nothing is built.
mkdir "$scratch/empty"
refuses "LUAJIT_SOURCE_DIR cannot be used" configure "$scratch/empty"
grep -q "not a LuaJIT source tree" "$scratch/err" || fail "no reason: $(cat "$scratch/err")"
refuses "not a directory" configure "$scratch/nowhere"
sed -i '/^#define LUAJIT_VERSION\b/s/"LuaJIT [^"]*"/"LuaJIT 2.0.5"/' "$header"
refuses "LuaJIT '2.0.5' is not supported" configure "$own"
