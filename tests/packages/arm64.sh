#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What scripts/package --arch arm64 has made, run by qemu's user mode: the programs of the packages
# and luatrace-static. On demand: cross-compiling everything takes minutes.
#
#   scripts/package --arch arm64 && tests/packages/arm64.sh build-arm64 build
#
# The second folder has this machine's programs, with which everything is compared. An emulated recorder
# can record a command; it cannot attach, and BPF programs are not run.
source "$(dirname "$0")/../lib.sh"
arm=$(realpath "$1") bin=$(realpath "$2")/bin
tests=$(cd "$(dirname "$0")/.." && pwd)
sysroot=$arm/sysroot root=$scratch/root
command -v qemu-aarch64-static >/dev/null || skip "no qemu-aarch64-static (qemu-user-static)"

echo "== contents and dependencies of the packages"
mkdir "$root"
for package in "$arm"/packages/*_arm64.deb; do
  dpkg-deb -x "$package" "$root"
  depends=$(dpkg-deb -f "$package" Depends)
  [[ $package == *usdt-default* || $depends == *"libc6 (>= "* ]] || fail "$package depends on: $depends"
done
for library in libstdc++6 libdw1 libboost-program-options libbpf1; do
  [[ $(dpkg-deb -f "$arm"/packages/luatrace_*_arm64.deb Depends) == *$library* ]] || fail "luatrace does not depend on $library"
done
find "$root/usr" -type f -print0 | xargs -0 file | grep 'ELF ' >"$scratch/elf"
! grep -v aarch64 "$scratch/elf" >&2 || fail "these are not for arm64"
[ "$(wc -l <"$scratch/elf")" -ge 7 ] || fail "too few files for arm64: $(cat "$scratch/elf")"

run() { qemu-aarch64-static -L "$sysroot" "$@"; }
static() { qemu-aarch64-static "$arm"/packages/luatrace-static-arm64 "$@"; }
packaged() { run "$root/usr/bin/luatrace-$1" "${@:2}"; }

echo "== analyzing a trace of this machine"
cd "$scratch"
"$bin/luatrace-record" -q -o x64.bin -- "$bin/luajit" -e "dofile('$tests/attach/work.lua')()"
views=("" --json --tree --timeline --folded "--sort calls" --dump=calls --dump)
for view in "${views[@]}"; do
  read -ra words <<<"x64.bin $view"
  "$bin/luatrace-analyze" "${words[@]}" >here
  for program in static packaged; do
    $program analyze "${words[@]}" >there
    cmp here there >&2 || fail "'$view' differs ($program)"
  done
done

echo "== recording a command"
events() { "$bin/luatrace-analyze" --dump=calls "$1" | grep -v " C:jit\.o"; } # the option's own
for program in static packaged; do
  for jit in -joff -jon; do
    $program record -q -o arm.bin -- qemu-aarch64-static -L "$sysroot" "$root/usr/bin/luajit-usdt" $jit -e "dofile('$tests/attach/work.lua')()"
    for view in "${views[@]}"; do
      read -ra words <<<"arm.bin $view"
      "$bin/luatrace-analyze" "${words[@]}" >here
      static analyze "${words[@]}" >there
      cmp here there >&2 || fail "'$view' of arm64's trace differs"
    done
    events arm.bin >"$program$jit"
    same "calls of fib" 21891 "$(grep -c ' entry work\.lua:7$' "$program$jit")"
    same "anomalies" 0 "$("$bin/luatrace-analyze" --json arm.bin | jq .trust.anomalies)"
  done
done
cmp static-joff packaged-joff >&2 || fail "the programs record other events"
cmp static-joff static-jon >&2 || fail "compiled code has other events"
"$bin/luatrace-record" -q -o x64.bin -- "$bin/luajit" -joff -e "dofile('$tests/attach/work.lua')()"
events x64.bin | cmp - static-joff >&2 || fail "arm64 has other events than x86-64"

echo "== what cannot be done says so"
refuses "luatrace" static record -o none.bin -p $$
static record --help | grep >/dev/null -- --via || fail "the BPF program is not in it"
