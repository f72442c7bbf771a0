#!/bin/bash
# SPDX-License-Identifier: MIT
# Files whose names or debug information are made to cost much more than their size: the analyzer
# prints what it can in bounded time and memory, and says that it left something out.
#   hostile_symbols.sh LUATRACE_ANALYZE CC
source "$(dirname "$0")/../lib.sh"
analyze=$1 cc=$2
cd "$scratch"

# write_trace LIBRARY [FUNCTION]: a trace of one function of it, or of an address that is in no file.
write_trace() {
  local at=0 offset=0 vaddr=0
  read -r offset vaddr < <(readelf -lW "$1" | awk '/LOAD/ && / E /{ print $2, $3 }')
  [ $# = 1 ] || at=0x7f$(nm "$1" | sed -n "s/^0000\([0-9a-f]*\) [tT] $2\$/\1/p")
  [ "$at" != 0x7f ] || fail "$1 has no $2: $(nm "$1")"
  cat >trace.txt <<END_OF_TRACE
#luatrace-text 1
clock monotonic mult=1 shift=0
process 1 pid=7 exe="/usr/bin/luajit" cmd="luajit"
stream 1 process=1 tid=7 recording=1 luajit="LuaJIT"
map 1 $((0x7f000000000000 + vaddr)) 0x7f000100000000 $((offset)) - "$scratch/$1"
func 1:1 c addr=$((at))
0 1 start
0 1 entry 1
1 1 return 1
2 1 stop close
end exit=0
END_OF_TRACE
}
# bounded OPTIONS: the output of the analyzer, which may take 20 s of processor time and 1 GB.
bounded() { (ulimit -v 1000000 -t 20 && exec "$analyze" -q "$@" trace.txt) || fail "$* failed"; }

# Nested blocks without end markers around many entries.
echo 'int call(int n) { return n; }' >call.c
cat >nested.s <<'END_OF_CODE'
.section .debug_abbrev,"",@progbits
.Labb:
.uleb128 1; .uleb128 0x11; .byte 1; .uleb128 0x11; .uleb128 1; .uleb128 0x12; .uleb128 1; .byte 0,0
.uleb128 2; .uleb128 0x2e; .byte 1; .uleb128 3; .uleb128 8; .uleb128 0x11; .uleb128 1; .uleb128 0x12; .uleb128 1; .byte 0,0
.uleb128 3; .uleb128 0x0b; .byte 1; .byte 0,0
.uleb128 4; .uleb128 0x34; .byte 0; .byte 0,0
.byte 0
.section .debug_info,"",@progbits
.long .Lend-.Lbegin
.Lbegin:
.value 4
.long .Labb
.byte 8
.uleb128 1
.quad call, call+1
.uleb128 2
.asciz "call"
.quad call, call+1
.fill 480,1,3
.fill 2000000,1,4
.fill 480,1,0
.byte 0, 0
.Lend:
.section .note.GNU-stack,"",@progbits
END_OF_CODE
"$cc" -fPIC -shared -Wl,-Bsymbolic -o nested.so call.c nested.s
write_trace nested.so call
bounded --symbols --limit 3 >out
grep -q 'call .*nested.so' out || fail "nested: $(cat out)"
grep -q 'the debug information of .* inlined functions may be missing' out || fail "nested, no note: $(cat out)"

# A file name of 300,000 bytes that each of many inlined calls has.
{
  printf '# 1 "%s"\n' "$(head -c 300000 /dev/zero | tr '\0' x)"
  echo "volatile int cell;"
  echo "static inline __attribute__((always_inline)) void put(void) { cell = 1; }"
  echo "int call(int n) {"
  for _ in $(seq 1500); do echo "put();"; done
  echo "return n; }"
} >long.c
"$cc" -g -O1 -fPIC -shared -o long.so long.c
write_trace long.so call
bounded --symbols --limit 3 >out
grep -qE 'call .*x\.\.\.:3 ' out || fail "long file name: $(head -c 1000 out)"
bounded --symbols --limit 0 --json >out
same "rows with a long file name" "[1500,1500,4099]" \
  "$(jq -c '[.symbols[0].inlined, ([.symbols[]|select(.name == "put")]|length), (.symbols[1].called_file|length)]' out)"

# A name in which each part stands for the one before it, twice: gigabytes. In no view, and no option, is
# it written; longer ordinary names are.
grown=_Z1fP1A
digits=0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ
for i in $(seq 0 2 50); do
  [ "$i" -lt 36 ] && part=S${digits:i:1}_ || part=S1${digits:i-36:1}_
  grown+=PFv$part${part}E
done
element=NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE
ordinary=_Z4sortSt6vectorI${element}SaIS4_EESt8functionIFbRKS4_S9_EESt3mapIS4_S6_St4lessIS4_ESaISt4pairIS8_S6_EEES6_S6_S6_S6_S6_
for name in "$grown" "$ordinary" _Z1fi f; do
  echo "int call(int n) __asm__(\"$name\"); int call(int n) { return n; }" >name.c
  "$cc" -fPIC -shared -o name.so name.c
  write_trace name.so "$name"
  for view in --report --symbols; do
    bounded "$view" --json >out
    jq -r '.functions[0].name, (.symbols//[{}])[0].name//empty' out | sort -u
  done
done | sort -u >names
filtered=$(echo "$ordinary" | c++filt)
[ ${#filtered} -gt 500 ] || fail "not a long name: $filtered"
same "names" "$(printf '%s\n' "$grown" "$filtered" 'f(int)' f | sort -u)" "$(cat names)"

# An address whose file is not in the trace: not a matter of debug information.
write_trace nested.so
bounded --symbols >out
grep -q '(the trace does not say which file contained 1 function:' out || fail "no mapping: $(cat out)"
if grep -q 'compile with -g' out; then fail "no mapping, wrong reason: $(cat out)"; fi
exit 0
