#!/bin/bash
# SPDX-License-Identifier: MIT
# Names of C functions, and the functions inlined into them, where the library is stripped,
# elsewhere, replaced or gone.
#   symbols.sh LUATRACE_ANALYZE CXX
source "$(dirname "$0")/../lib.sh"
analyze=$1 cxx=$2

cat >"$scratch/lib.cc" <<'END_OF_CODE'
#define INLINE static inline __attribute__((always_inline))
volatile int sink;
namespace parts {
INLINE void innermost(int x) { sink = x * 3; }
INLINE void middle(int x) {
  innermost(x + 1);
}
__attribute__((noinline)) void outer(int x) {
  middle(x);
}
static __attribute__((noinline)) int hidden(int x) { return sink + x; }
}  // namespace parts
extern "C" int plain_c(int x) { parts::outer(x); return parts::hidden(x); }
END_OF_CODE
build=$scratch/build
mkdir -p "$build" "$scratch/root/usr/lib" "$scratch/debug" "$scratch/other"
# Fixed addresses in the file: segments at page boundaries, offset equal to address for code.
"$cxx" -g -O1 -fPIC -shared -Wl,--build-id=sha1 -o "$build/lib.so" "$scratch/lib.cc"
id=$(readelf -n "$build/lib.so" | sed -n 's/.*Build ID: //p')
# addresses FILE: where the three functions are in a library that was not stripped.
address() { nm -C "$1" | sed -n "s/^\([0-9a-f]*\) [tT] $2\$/\1/p" | head -n 1; }
addresses() {
  outer=$(address "$1" 'parts::outer(int)')
  hidden=$(address "$1" 'parts::hidden(int)')
  plain=$(address "$1" plain_c)
  [ -n "$outer" ] && [ -n "$hidden" ] && [ -n "$plain" ] || fail "no symbols: $(nm -C "$1")"
}
addresses "$build/lib.so"
# The executable segment, as the kernel would map it.
read -r offset vaddr < <(readelf -lW "$build/lib.so" | awk '/LOAD/ && / E /{ print $2, $3 }')
[ $((offset)) = $((vaddr)) ] || fail "this test expects code at $offset, not $vaddr"

objcopy --only-keep-debug "$build/lib.so" "$build/lib.debug"
strip -o "$build/stripped.so" "$build/lib.so"
strip -o "$build/linked.so" "$build/lib.so"
(cd "$build" && cp lib.debug linked.debug && objcopy --add-gnu-debuglink=linked.debug linked.so)

# write_trace PATH BUILD_ID: a trace of the three functions.
write_trace() {
  local path=$1 build_id=$2
  cat >"$scratch/trace.txt" <<END_OF_TRACE
#luatrace-text 1
clock monotonic mult=1 shift=0
process 1 pid=7 exe="/usr/bin/luajit" cmd="luajit"
stream 1 process=1 tid=7 recording=1 luajit="LuaJIT"
map 1 $((0x7f0000000000 + vaddr)) 0x7f0000100000 $((offset)) ${build_id:--} "$path"
func 1:1 c addr=$((0x7f0000000000 + 0x$outer))
func 1:2 c addr=$((0x7f0000000000 + 0x$hidden))
func 1:3 c addr=$((0x7f0000000000 + 0x$plain))
0 1 start
0 1 entry 3
1 1 entry 1
2 1 return 1
3 1 entry 2
4 1 return 2
5 1 return 3
6 1 stop close
end exit=0
END_OF_TRACE
}
# names PATH BUILD_ID OPTIONS: the names of the three functions.
names() {
  write_trace "$1" "$2"
  shift 2
  "$analyze" --json "$@" "$scratch/trace.txt" 2>"$scratch/err" | jq -r '[.functions[].name] | sort | join(" | ")'
}
# inlined PATH BUILD_ID OPTIONS: parts::outer and what was inlined into it, each after what it is in,
# with where it is defined and called.
inlined() {
  write_trace "$1" "$2"
  shift 2
  timeout 60 "$analyze" --symbols --json "$@" "$scratch/trace.txt" 2>"$scratch/err" >"$scratch/out" || fail "$* failed"
  jq -r '.symbols[]|select(.kind == "inlined" or (.name|startswith("parts::outer")))|
    ["\(.depth) \(.name)", .defined_file, .defined_line, .called_file, .called_line]|join(" ")' "$scratch/out" |
    sed 's/(int)//; s|/[^ ]*/||g; s/ *$//'
}
nested="1 parts::outer lib.cc 8
2 parts::middle lib.cc 5 lib.cc 9
3 parts::innermost lib.cc 4 lib.cc 6"
# sources PATH BUILD_ID OPTIONS: where each function's name comes from.
sources() {
  inlined "$@" >/dev/null
  jq -r '[.symbols[]|select(.kind == "c").named_by]|sort|join(" ")' "$scratch/out"
}
all='parts::hidden(int) | parts::outer(int) | plain_c'

same "with symbols" "$(names "$build/lib.so" "$id")" "$all"
same "named by" "$(sources "$build/lib.so" "$id")" "symtab symtab symtab"
# Stripped: the dynamic symbols are left.
[[ $(names "$build/stripped.so" "$id") == 'parts::outer(int) | plain_c | stripped.so+0x'* ]] ||
  fail "stripped: $(names "$build/stripped.so" "$id")"
same "named by, stripped" "$(sources "$build/stripped.so" "$id")" "dynsym dynsym nothing"
same "inlined, stripped: unknown" "$(jq -c '[.symbols[]|.inlined,.left_out,.defined_file,.defined_line]|unique' "$scratch/out")" "[null]"
"$analyze" --symbols "$scratch/trace.txt" | grep >/dev/null "(no debug information for 3 functions, so what was inlined is unknown (.*--debug-dir DIR" || fail "stripped, --symbols as text"
# A debug file by build-id, in --debug-dir or the sysroot's /usr/lib/debug.
mkdir -p "$scratch/debug/.build-id/${id:0:2}"
cp "$build/lib.debug" "$scratch/debug/.build-id/${id:0:2}/${id:2}.debug"
same "by build-id" "$(names "$build/stripped.so" "$id" --debug-dir "$scratch/debug")" "$all"
cp "$build/stripped.so" "$scratch/root/usr/lib/libx.so"
mkdir -p "$scratch/root/usr/lib/debug/.build-id"
cp -r "$scratch/debug/.build-id/${id:0:2}" "$scratch/root/usr/lib/debug/.build-id/"
same "in the sysroot" "$(names /usr/lib/libx.so "$id" --sysroot "$scratch/root")" "$all"
# By debuglink: in the same folder, in .debug/, below the debug folder.
same "beside it" "$(names "$build/linked.so" "$id")" "$all"
mkdir "$build/.debug"
mv "$build/linked.debug" "$build/.debug/"
same "in .debug" "$(names "$build/linked.so" "$id")" "$all"
mkdir -p "$scratch/tree$build"
mv "$build/.debug/linked.debug" "$scratch/tree$build/"
same "below the debug folder" "$(names "$build/linked.so" "$id" --debug-dir "$scratch/tree")" "$all"
# A debug file of another build is not used, whatever its name.
"$cxx" -g -O0 -DOTHER -fPIC -shared -Wl,--build-id=0x1122334455 -o "$scratch/other.so" "$scratch/lib.cc"
cp "$scratch/other.so" "$scratch/tree$build/linked.debug"
[[ $(names "$build/linked.so" "$id" --debug-dir "$scratch/tree") == *linked.so+0x* ]] || fail "another build's debug file was used"
# No build-id at all: the checksum of the debuglink decides.
"$cxx" -g -O1 -fPIC -shared -Wl,--build-id=none -o "$build/noid.so" "$scratch/lib.cc"
objcopy --only-keep-debug "$build/noid.so" "$build/noid.debug"
strip "$build/noid.so" && (cd "$build" && objcopy --add-gnu-debuglink=noid.debug noid.so)
addresses "$build/noid.debug"
[[ $(names "$build/noid.so" "") == *"parts::hidden(int)"* ]] || fail "by checksum: $(names "$build/noid.so" "")"
echo >>"$build/noid.debug"
[[ $(names "$build/noid.so" "") == *noid.so+0x* ]] || fail "a wrong checksum is believed"
addresses "$build/lib.so"

# The container is gone, and the library with it: found by its build-id, if it exists elsewhere ...
same "gone, debug file there" "$(names /gone/overlay/libx.so "$id" --debug-dir "$scratch/debug")" "$all"
same "deleted" "$(names "/gone/libx.so (deleted)" "$id" --debug-dir "$scratch/debug")" "$all"
mkdir -p "$scratch/store/.build-id/${id:0:2}"
cp "$build/lib.so" "$scratch/store/.build-id/${id:0:2}/${id:2}"
same "gone, itself stored" "$(names /gone/libx.so "$id" --debug-dir "$scratch/store")" "$all"
same "replaced by another build" "$(names "$scratch/other.so" "$id" --debug-dir "$scratch/store")" "$all"
# ... and else its build-id is the name, and the warning has all of it.
gone=$(names "/gone/libx.so (deleted)" "$id")
printf -v outer_text 'libx.so[%s]+0x%x' "${id:0:16}" "0x$outer"
[[ $gone == *"$outer_text"* ]] || fail "gone: $gone, not $outer_text"
grep -q "/gone/libx.so: no such file, build-id $id: .*--sysroot DIR.*--debug-dir DIR" "$scratch/err" || fail "warning: $(cat "$scratch/err")"
same "number of warnings" "$(wc -l <"$scratch/err")" 1

# Inlined functions, from the debug file of a stripped library, and which file that was.
same "inlined" "$(inlined "$build/lib.so" "$id")" "$nested"
same "inlined, debug file" "$(inlined "$build/stripped.so" "$id" --debug-dir "$scratch/debug")" "$nested"
debug_file=$scratch/debug/.build-id/${id:0:2}/${id:2}.debug
same "read from" "$(jq -c '[.symbols[]|.read_from,.build_id]|unique' "$scratch/out")" "$(jq -nc '$ARGS.positional|sort' --args "$debug_file" "$id")"
same "named by, debug file" "$(sources "$build/stripped.so" "$id" --debug-dir "$scratch/debug")" "symtab symtab symtab"
same "inlined, library gone" "$(inlined /gone/overlay/libx.so "$id" --debug-dir "$scratch/debug")" "$nested"
same "named by, library gone" "$(sources /gone/overlay/libx.so "$id")" "nothing nothing nothing"

# Debug information alone, without a table of symbols, as each compiler and version writes it
# (clang's has no .debug_aranges and has functions inside of their namespaces), compressed or not.
for compiler in "$cxx" clang++; do
  for version in 4 5; do
    bare=$build/bare.so
    "$compiler" -g "-gdwarf-$version" -O1 -fPIC -shared -o "$build/full.so" "$scratch/lib.cc"
    objcopy -S --keep-section='.debug_*' "$build/full.so" "$bare"
    addresses "$build/full.so"
    for form in none zlib; do
      objcopy "--compress-debug-sections=$form" "$bare"
      case="$compiler, DWARF $version, $form"
      [[ $(names "$bare" "") == *'parts::hidden'* ]] || fail "$case: $(names "$bare" "")"
      same "inlined, $case" "$(inlined "$bare" "")" "$nested"
      same "named by, $case" "$(sources "$bare" "")" "debug dynsym dynsym"
    done
  done
done

# dwz: what two libraries share is in a third file, which is where they say, or in .dwz.
for name in one two; do
  sed "s/plain_c/$name/; 1i #include <string>\nstd::string text_$name(int i) { return std::to_string(i); }" "$scratch/lib.cc" >"$scratch/$name.cc"
  "$cxx" -g -gdwarf-4 -O1 -fPIC -shared -o "$build/$name.so" "$scratch/$name.cc"
done
addresses "$build/lib.so"
outer=$(address "$build/one.so" 'parts::outer(int)')
dwz -m "$build/common" -M "$build/common" "$build/one.so" "$build/two.so"
objcopy -S --keep-section='.debug_*' --keep-section=.gnu_debugaltlink "$build/one.so" "$build/bare.so"
middle() { inlined "$build/bare.so" "" --debug-dir "$scratch/debug" | grep '^2 parts::middle '; }
same "dwz" "$(middle)" "2 parts::middle one.cc 7 one.cc 11"
mkdir "$scratch/debug/.dwz"
mv "$build/common" "$scratch/debug/.dwz/common"
mkfifo "$build/common"
same "dwz, .dwz" "$(middle)" "2 parts::middle one.cc 7 one.cc 11"
cp "$scratch/other.so" "$scratch/debug/.dwz/common"
same "dwz, another build's file" "$(middle)" ""

# Files that only look like a library, or like its debug file, do not block the analyzer.
addresses "$build/lib.so"
mkfifo "$build/fifo.so"
waits() { # PATH: the analyzer's status with this library
  write_trace "$1" ""
  local status=0
  timeout 60 "$analyze" --symbols --json "$scratch/trace.txt" >/dev/null 2>&1 || status=$?
  same "status with $1" "$status" 0
}
waits "$build/fifo.so"
rm "$build/noid.debug"
mkfifo "$build/noid.debug"
waits "$build/noid.so"
truncate -s 100G "$build/huge.so"
waits "$build/huge.so"
waits /dev/zero
