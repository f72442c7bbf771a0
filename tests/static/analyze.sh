#!/bin/bash
# SPDX-License-Identifier: MIT
#
# luatrace-static analyzes in a root without any other program, library, /proc or /dev, and prints what
# luatrace-analyze prints. Where /proc is, C functions have their names, too.
#
#   analyze.sh LUATRACE_ANALYZE LUATRACE_STATIC LUATRACE_RECORD LUAJIT PROGRAM
source "$(dirname "$0")/../lib.sh"
analyze=$1 static=$2
[ "$(id -u)" = 0 ] || skip "only root can use chroot"
root=$scratch/root
mkdir "$root"
cp "$static" "$root/luatrace"
"$3" -q -o "$root/trace.bin" -- "$4" -e "dofile('$5')()"
readelf -lW "$static" >"$scratch/segments"
! grep -q INTERP "$scratch/segments" || fail "$static needs a dynamic linker"
same "files beside the program and the trace" "$(find "$root" -type f | wc -l)" 2

# shows FILE COMMAND...: what COMMAND prints and writes to out, into FILE. Pages have the time
# at which they were made, and the command.
shows() {
  local into=$1
  shift
  rm -rf out
  "$@" >"$into" 2>"$scratch/err" || fail "$*: $(cat "$scratch/err")"
  [ ! -e out ] || find out -type f | LC_ALL=C sort | LC_ALL=C xargs sed -E 's/"madeAt":"[^"]*","command":\[[^]]*\]//' >>"$into"
}
cd "$root"
views=("--sort calls" --json --tree --timeline --folded "--page=out" "--format pprof -o out" "--format parquet -o out" "--save-profile out")
for view in "${views[@]}"; do
  read -ra words <<<"trace.bin $view"
  shows "$scratch/named" "$analyze" "${words[@]}"
  shows "$scratch/static" "$static" analyze "${words[@]}"
  cmp "$scratch/named" "$scratch/static" >&2 || fail "'$view' of the static one differs"
  shows "$scratch/unnamed" "$analyze" "${words[@]}" --sysroot "$root"
  shows "$scratch/static" chroot "$root" /luatrace analyze "${words[@]}"
  cmp "$scratch/unnamed" "$scratch/static" >&2 || fail "'$view' of the static one differs in the empty root"
done
refuses "is static" chroot "$root" /luatrace analyze trace.bin --push http://127.0.0.1:9/ --push-as otlp-1.11
