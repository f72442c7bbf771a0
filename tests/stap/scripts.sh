#!/bin/bash
# SPDX-License-Identifier: MIT
# Tests that need no guest: stap accepts every script, the installed tapset is found and documented,
# luatrace-stap finds the library of a process and reports errors.
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
grep -q 'stap does not search /opt/own' "$scratch/log" || fail "no message about where stap looks"
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
  grep -qF "${name#*::}" "$pages/tapset::luajit.3stap" || fail "tapset::luajit does not describe $name"
done
if command -v man >/dev/null; then
  for page in tapset::luajit probe::luajit.function.entry function::luajit_place luatrace-stap; do
    LC_ALL=C MANROFFSEQ='' MANPATH=$usr/share/man man --warnings "$page" 2>"$scratch/err" >"$scratch/out" || fail "man $page"
    same "man's warnings" "" "$(cat "$scratch/err")"
    grep -qi "${page#*::}" "$scratch/out" || fail "man $page shows something else"
  done
fi

# Which library: that of a program linked with it, one in another root.
mkfifo "$scratch/never"
"$build/bin/luajit" -e 'io.read()' <>"$scratch/never" &
pid=$!
mkdir -p "$scratch/other"/{bin,lib64,lib/x86_64-linux-gnu}
cp "$build/bin/luajit" "$scratch/other/bin/"
cp /lib64/ld-linux-x86-64.so.2 "$scratch/other/lib64/"
cp /lib/x86_64-linux-gnu/lib{c,m,dl}.so.* /lib/x86_64-linux-gnu/libgcc_s.so.1 "$scratch/other/lib/x86_64-linux-gnu/"
other=
if [ "$(id -u)" = 0 ]; then
  chroot "$scratch/other" /bin/luajit -e 'io.read()' <>"$scratch/never" &
  other=$!
fi
runs $pid "$build/bin/luajit"
[ -z "$other" ] || runs "$other" "$scratch/other/bin/luajit"
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
refuses 'missing target' "$stap" lua-top -r "$release"
refuses 'usage|^ *luatrace-stap ' "$stap"

refuses 'missing SCRIPT' "$stap" --nothing
refuses 'missing SCRIPT' "$stap" -x "$pid" -o file
refuses '-T needs a value' "$stap" lua-top -T
refuses '-x needs a process id, not one' "$stap" lua-top -xone
"$stap" --help >"$scratch/out" 2>"$scratch/err" || fail "--help"
same "--help: errors" "" "$(cat "$scratch/err")"
grep -q '^usage: luatrace-stap ' "$scratch/out" || fail "--help: $(cat "$scratch/out")"

"$stap" --version >"$scratch/out" || fail "--version"
same "--version" "luatrace-stap $("$build/bin/luatrace-record" --version | sed 's/.* //')" "$(cat "$scratch/out")"
for script in "$root"/probes/*.stp; do  # What each prints, without stap's messages.
  "$stap" "$(basename "$script" .stp)" --help >"$scratch/out" || fail "$script --help"
  grep -q "^  stap $(basename "$script") -x PID" "$scratch/out" || fail "$script --help: $(cat "$scratch/out")"
  ! grep -qE 'SPDX|^probe|^global' "$scratch/out" || fail "$script --help: $(cat "$scratch/out")"
done

# Errors in names.
mkdir "$scratch/lua-top" "$scratch/tree"
refuses "tree is a directory, not a script" "$stap" "$scratch/tree" -x "$pid" -r "$release"
(cd "$scratch" && "$stap" --show lua-top -x "$pid" -r "$release") >"$scratch/out"  # A folder of that name is not a script.
grep -q "probes/lua-top.stp " "$scratch/out" || fail "a directory lua-top: $(cat "$scratch/out")"
refuses "$scratch/tree is not a folder for building kernel modules.*" "$stap" lua-top -x "$pid" -r "$scratch/tree"
refuses "/nothing is not a folder for building kernel modules.*" "$stap" --runtime -r /nothing
refuses "no file $scratch/none" "$stap" lua-top --library "$scratch/none" -r "$release"
refuses '/bin/true has no LuaJIT with tracepoints' "$stap" lua-top --library /bin/true -r "$release"
refuses 'two files to probe: a and b' "$stap" lua-top a b
refuses '--runtime can be combined only with -r RELEASE' "$stap" --runtime extra
refuses '--bpf: .*kernel modules' "$stap" lua-top --bpf -x "$pid"
refuses '--runtime=bpf: .*kernel modules' "$stap" lua-top --runtime=bpf -x "$pid"
refuses 'lua-slow has no value limit .it has: limit_us callers leaf running.' "$stap" lua-slow -G limit=5 -x "$pid"
refuses 'lua-flame has no value rows' "$stap" lua-flame -G rows=5 -x "$pid"
refuses '-G interval=x: not a number' "$stap" lua-top -Ginterval=x -x "$pid"
if command -v script >/dev/null; then  # A terminal.
  refuses_tty() { script -qec "$(printf '%q ' "$@")" /dev/null >&2; }
  refuses 'lua-calls writes binary records' refuses_tty "$stap" lua-calls -x "$pid" -r "$release"
fi
refuses '-e is for scripts of your own.*' "$stap" lua-top -e 'probe begin {}'
refuses '--sysroot needs a value' "$stap" lua-top --sysroot
refuses 'cannot write to /proc/none/luatrace; set XDG_CACHE_HOME .*' env XDG_CACHE_HOME=/proc/none "$stap" --runtime -r "$release"

# shows PATTERN ARGUMENT...: in the command that it would start.
shows() {
  local pattern=$1
  shift
  "$stap" --show -r "$release" "$@" >"$scratch/out" 2>&1 || fail "$*: $(cat "$scratch/out")"
  grep -qE -e "$pattern" "$scratch/out" || fail "$*: $(cat "$scratch/out")"
}
# Options in front of the script, several letters in a word, values in the next word.
shows "-x $pid -T 5 .*lua-top.stp $build/bin/luajit \$" -x "$pid" -T 5 lua-top
shows "-v -g -x $pid -o out .*lua-top.stp $build/bin/luajit \$" lua-top -vgx "$pid" -oout
shows "-A a -C never -N 4 -x $pid -S 1 .*lua-top.stp $build/bin/luajit \$" lua-top -A a -C never -N 4 -x "$pid" -S 1
shows "--vp 00001 --tmpdir /tmp --rlimit-as 9 .*lua-top.stp $build/bin/luajit \$" lua-top --vp 00001 --tmpdir /tmp --rlimit-as 9 -x "$pid"
shows "--suppress-handler-errors --compatible=4.8 .*lua-top.stp $library \$" lua-top --suppress-handler-errors --compatible=4.8 "$library"
shows "lua-top.stp $library \$" lua-top -- "$library"
shows "-c luajit.* - \$" - -c 'luajit x.lua'
mkdir -p "$scratch/image/usr/lib"
cp "$library" "$scratch/image/usr/lib/lib.so"
shows "--sysroot=$scratch/image .*lua-top.stp /usr/lib/lib.so \$" lua-top --sysroot "$scratch/image" /usr/lib/lib.so
(cd "$build/lib" && shows "lua-top.stp $build/lib/libluajit-5.1.so.2 \$" lua-top --library libluajit-5.1.so.2)

# Values in the same word; a library named after the script; -a.
"$stap" --show lua-top -x"$pid" -r"$release" -T5 -a x86_64 -p4 >"$scratch/out"
grep -q -- "-r $release .*-x $pid -T 5 -a x86_64 -p4 .*lua-top.stp $build/bin/luajit \$" "$scratch/out" || fail "attached: $(cat "$scratch/out")"
"$stap" --show lua-top -r "$release" --library "$library" >"$scratch/out"
grep -q "lua-top.stp $library \$" "$scratch/out" || fail "--library after the script: $(cat "$scratch/out")"

# A runtime is always printed: patched, already patched, and without headers (which is an error).
patched=$("$stap" --runtime -r "$release")
[ -e "$patched/runtime.h" ] || fail "--runtime: $patched"
same "--runtime, nothing to patch" "$patched" "$(SYSTEMTAP_RUNTIME=$patched "$stap" --runtime -r "$release")"
refuses 'no headers of the kernel 9.9.9-none' "$stap" --runtime -r 9.9.9-none
same "--runtime without headers" "$stap_share/systemtap/runtime" "$(cat "$scratch/out")"

# No guest: reported, and skipped.
mkdir "$scratch/bin"
ln -s /usr/bin/* /bin/* "$scratch/bin/" 2>/dev/null || true
no_guest() {
  local pattern=$1 status=0
  shift
  env "$@" "$(dirname "$0")/quick.sh" "$build" >"$scratch/out" 2>&1 || status=$?
  same "status without a guest ($pattern)" 77 "$status"
  grep -qE "^SKIP: .*$pattern" "$scratch/out" || fail "no message '$pattern': $(cat "$scratch/out")"
}
printf '#!/bin/sh\necho "E: no network" >&2; exit 100\n' >"$scratch/apt-get"
chmod +x "$scratch/apt-get"
ln -sf "$scratch/apt-get" "$scratch/bin/apt-get"
no_guest 'the kernel image .* cannot be had' PATH="$scratch/bin" LUATRACE_GUEST_CACHE="$scratch/none"
rm "$scratch"/bin/qemu-system-x86_64
no_guest 'no qemu-system-x86_64' PATH="$scratch/bin"
rm "$scratch/bin/stap"
no_guest 'no stap' PATH="$scratch/bin"
