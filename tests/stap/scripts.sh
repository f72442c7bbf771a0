#!/bin/bash
# SPDX-License-Identifier: MIT
# What needs no guest: every script is accepted by stap, the installed tapset is found
# and documented, luatrace-stap finds the library of a process and says what is wrong.
#   scripts.sh BUILD_FOLDER CMAKE
build=$(readlink -f "$1")
. "$(dirname "$0")/../lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
stap=$root/stap/luatrace-stap
export XDG_CACHE_HOME=$build/tests/stap/cache
command -v stap >/dev/null || skip "no stap (Debian: systemtap)"
release=$(basename "$(find /usr/src -maxdepth 1 -name 'linux-headers-*-amd64' | sort -V | tail -n 1)" | sed 's/linux-headers-//')
[ -n "$release" ] || skip "no kernel headers"
library=$build/lib/libluajit-5.1.so.2

# Semantic analysis of each, for library and program.
for script in "$root"/probes/*.stp; do
  "$stap" --library "$library" "$script" -r "$release" -p2 >"$scratch/out" 2>&1 || fail "$script: $(tail -n 5 "$scratch/out")"
  grep -q "^process(\"$library\")" "$scratch/out" || fail "$script places no probes"
done
"$stap" lua-calls -c "$build/bin/luajit x.lua" -r "$release" -p2 >"$scratch/out" 2>&1 || fail "-c: $(tail -n 5 "$scratch/out")"

# Installed: where stap looks, also from /usr/local; found by stap itself, and by luatrace-stap.
cmake=$2
# installs PREFIX FOLDER: the tapset goes to FOLDER.
installs() {
  rm -rf "$scratch/root"
  DESTDIR=$scratch/root "$cmake" --install "$build" --prefix "$1" >"$scratch/log" 2>&1 || fail "install: $(tail -n 3 "$scratch/log")"
  same "tapset for $1" 4 "$(find "$scratch/root$2" -name 'luajit*.stp*' -size +0 | wc -l)"
}
stap_share=$(dirname "$(dirname "$(readlink -f "$(command -v stap)")")")/share
installs /opt/own /opt/own/share/systemtap/tapset
grep -q 'stap does not look in /opt/own' "$scratch/log" || fail "no word of where stap looks"
installs /usr/local "$stap_share/systemtap/tapset"
installs /usr "$stap_share/systemtap/tapset"
usr=$scratch/root/usr
XDG_DATA_DIRS=$usr/share stap -R "$("$stap" --runtime -r "$release")" -r "$release" -p2 \
  "$usr/share/luatrace/probes/lua-calls.stp" "$library" >"$scratch/out" 2>&1 || fail "installed: $(tail -n 5 "$scratch/out")"
"$usr/bin/luatrace-stap" --show --library "$library" lua-calls -r "$release" >"$scratch/out"
grep -q -- "-I $usr/share/systemtap/tapset " "$scratch/out" || fail "luatrace-stap does not find its tapset: $(cat "$scratch/out")"

# Documented: a page for each, and all of them on the page of the tapset.
pages=$usr/share/man/man3
for name in $(sed -n 's/^probe \(luajit[^ ]*\).*/probe::\1/p' "$root"/stap/*.stp) \
  $(sed -n 's/^function \([a-z_]*\).*/function::\1/p' "$root"/stap/*.stp); do
  [ -s "$pages/$name.3stap" ] || fail "no man page $name"
  grep -qF "${name#*::}" "$pages/tapset::luajit.3stap" || fail "tapset::luajit does not tell of $name"
done
if command -v man >/dev/null; then
  for page in tapset::luajit probe::luajit.function.entry function::luajit_place luatrace-stap; do
    LC_ALL=C MANROFFSEQ='' MANPATH=$usr/share/man man --warnings "$page" 2>"$scratch/err" >"$scratch/out" || fail "man $page"
    same "man's warnings" "" "$(cat "$scratch/err")"
    grep -qi "${page#*::}" "$scratch/out" || fail "man $page shows something else"
  done
fi

# Which library: that of a program linked with it, one in another root.
"$build/bin/luajit" -e 'io.read()' < <(sleep 60) &
pid=$!
mkdir -p "$scratch/other"/{bin,lib64,lib/x86_64-linux-gnu}
cp "$build/bin/luajit" "$scratch/other/bin/"
cp /lib64/ld-linux-x86-64.so.2 "$scratch/other/lib64/"
cp /lib/x86_64-linux-gnu/lib{c,m,dl}.so.* /lib/x86_64-linux-gnu/libgcc_s.so.1 "$scratch/other/lib/x86_64-linux-gnu/"
other=
if [ "$(id -u)" = 0 ]; then
  chroot "$scratch/other" /bin/luajit -e 'io.read()' < <(sleep 60) &
  other=$!
fi
trap 'kill $pid $other 2>/dev/null; rm -rf "$scratch"' EXIT
sleep 1
"$stap" --show lua-top -x "$pid" -r "$release" | grep >/dev/null "lua-top.stp $build/bin/luajit \$" || fail "does not find the program"
if [ -n "$other" ]; then
  "$stap" --show lua-top -x "$other" -r "$release" >"$scratch/out"
  grep -q -- "--sysroot=.* .*lua-top.stp /bin/luajit \$" "$scratch/out" || fail "another root: $(cat "$scratch/out")"
  cp "$build/bin/luajit" "$scratch/other/bin/new" && mv "$scratch/other/bin/new" "$scratch/other/bin/luajit"
  refuses 'replaced or removed' "$stap" lua-top -x "$other" -r "$release"
fi
refuses 'no LuaJIT with tracepoints' "$stap" lua-top -x $$ -r "$release"
refuses 'no process 999999999' "$stap" lua-top -x 999999999 -r "$release"
refuses 'no headers of the kernel 9.9.9-none here.*' "$stap" lua-top -x "$pid" -r 9.9.9-none
refuses 'no script lua-nothing' "$stap" lua-nothing -x "$pid"
refuses 'which program' "$stap" lua-top -r "$release"
refuses 'usage|^ *luatrace-stap ' "$stap"

refuses 'unknown option --nothing' "$stap" --nothing
refuses '-T needs a value' "$stap" lua-top -T
refuses '-x needs the number of a process, not one' "$stap" lua-top -xone
"$stap" --help >"$scratch/out" 2>"$scratch/err" || fail "--help"
same "--help: errors" "" "$(cat "$scratch/err")"
grep -q '^usage: luatrace-stap ' "$scratch/out" || fail "--help: $(cat "$scratch/out")"

# Values in the same word; a library named behind the script; -a.
"$stap" --show lua-top -x"$pid" -r"$release" -T5 -a x86_64 -p4 >"$scratch/out"
grep -q -- "-r $release .*-x $pid -T 5 -a x86_64 -p4 .*lua-top.stp $build/bin/luajit \$" "$scratch/out" || fail "attached: $(cat "$scratch/out")"
"$stap" --show lua-top -r "$release" --library "$library" >"$scratch/out"
grep -q "lua-top.stp $library \$" "$scratch/out" || fail "--library behind the script: $(cat "$scratch/out")"

# A runtime is printed in any case: mended, already mended, and without headers (which is an error).
mended=$("$stap" --runtime -r "$release")
[ -e "$mended/runtime.h" ] || fail "--runtime: $mended"
same "--runtime, nothing to mend" "$mended" "$(SYSTEMTAP_RUNTIME=$mended "$stap" --runtime -r "$release")"
refuses 'no headers of the kernel 9.9.9-none' "$stap" --runtime -r 9.9.9-none
same "--runtime without headers" "$stap_share/systemtap/runtime" "$(cat "$scratch/out")"

# No guest: said, and skipped.
mkdir "$scratch/bin"
ln -s /usr/bin/* /bin/* "$scratch/bin/" 2>/dev/null || true
no_guest() {
  local pattern=$1 status=0
  shift
  env "$@" "$(dirname "$0")/quick.sh" "$build" >"$scratch/out" 2>&1 || status=$?
  same "status without a guest ($pattern)" 77 "$status"
  grep -qE "^SKIP: .*$pattern" "$scratch/out" || fail "does not say '$pattern': $(cat "$scratch/out")"
}
printf '#!/bin/sh\necho "E: no network" >&2; exit 100\n' >"$scratch/apt-get"
chmod +x "$scratch/apt-get"
ln -sf "$scratch/apt-get" "$scratch/bin/apt-get"
no_guest 'the kernel image .* cannot be had' PATH="$scratch/bin" LUATRACE_GUEST_CACHE="$scratch/none"
rm "$scratch"/bin/qemu-system-x86_64
no_guest 'no qemu-system-x86_64' PATH="$scratch/bin"
rm "$scratch/bin/stap"
no_guest 'no stap' PATH="$scratch/bin"
