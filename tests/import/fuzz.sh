#!/bin/bash
# SPDX-License-Identifier: MIT
# Fuzzes the importers: tests/import/fuzz.sh [SECONDS] [FILE...]
#
# With libFuzzer, AddressSanitizer and UBSan; Debian: clang-14, libclang-rt-14-dev.
# FILEs are more inputs to begin with. Not one of the tests: it takes as long as
# it is told to (default 60 s). An input that fails is left in the folder where
# this was started.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
seconds=${1:-60}
shift || true
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

flags=(-std=c++20 -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined
  -I"$root" -I"$root/luajit-usdt/src" -I"$root/tests/analyzer" -I"$root/tests/import")
sources=("$root"/trace/*.cc "$root"/trace/hits/*.cc "$root"/analyzer/{decode,stacks,aggregate}/*.cc
  "$root"/analyzer/render/{calls,dump,format}.cc "$root"/tests/analyzer/support.cc
  "$root"/tests/import/{fuzz,hits}.cc)
zstd=()
[ ! -e "$root/trace/packing.cc" ] || zstd=(-lzstd)
mkdir "$work/corpus" "$work/o"
for s in "${sources[@]}"; do
  echo "$s"
done | xargs -P2 -I{} sh -c 'clang++ "$@" -c {} -o "'"$work"'/o/$(echo {} | tr / _).o"' - "${flags[@]}"
clang++ -fsanitize=fuzzer,address,undefined "$work"/o/*.o -o "$work/fuzz" -lgtest -lpthread "${zstd[@]}"
[ $# -eq 0 ] || cp "$@" "$work/corpus"
printf '#luatrace-bt 1 100000000000 1\nS 100000000010 7 7 1 a0 1 0 0 90\nE 100000000020 7 7 2 a0 1 4 beef\n' \
  >"$work/corpus/text"
exec "$work/fuzz" -max_total_time="$seconds" -max_len=4096 -rss_limit_mb=1024 -timeout=10 \
  -print_final_stats=1 "$work/corpus"
