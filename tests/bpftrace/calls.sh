#!/bin/bash
# SPDX-License-Identifier: MIT
# The same program under lua-calls.bt and under luatrace-record: the same calls, one by one, with
# the JIT compiler on; also for programs of the conformance suite. And the trust line reports
# nothing.
. "$(dirname "$0")/lib.sh"

compare() {
  local program=$1 name
  name=$(basename "$program")
  "$record" -q --block -o "$scratch/direct.bin" -- "$luajit" "$program" >"$scratch/out" ||
    fail "luatrace-record: $name"
  trace -o "$scratch/calls.txt" -c "$luajit $program" "$probes/lua-calls.bt" "$luajit"
  calls_of "$scratch/direct.bin" >"$scratch/direct"
  calls_of "$scratch/calls.txt" >"$scratch/bpf"
  cmp -s "$scratch/direct" "$scratch/bpf" ||
    fail "$name: $(diff "$scratch/direct" "$scratch/bpf" | head -20)"
  "$analyze" --strict "$scratch/calls.txt" >"$scratch/summary" ||
    fail "$name: $(tail -n 1 "$scratch/summary")"
  # Function by function.
  for kind in direct.bin calls.txt; do
    "$analyze" --json "$scratch/$kind" |
      # bpftrace is told of steps of the collector, but not as calls; and when the VM compiles differs.
      jq -r '.functions[] | select(.calls > 0 and (.name | test("^.(GC|JIT|luatrace).$") | not)) | "\(.chunk):\(.line) \(.name) \(.hint) \(.calls)"' | sort >"$scratch/$kind.counts"
  done
  cmp -s "$scratch/direct.bin.counts" "$scratch/calls.txt.counts" ||
    fail "$name: $(diff "$scratch/direct.bin.counts" "$scratch/calls.txt.counts")"
  echo "$name: $(wc -l <"$scratch/bpf") events, $(wc -l <"$scratch/direct.bin.counts") functions, equal"
}

compare "$here/programs/mixed.lua"
for name in co_error_chain co_yield_pcall error_hot tail_recursion callback_gsub; do
  compare "$here/../conformance/programs/$name.lua"
done

# The shared library, stripped, in a program that is not ours; by the library's path.
cp "$bin"/../lib/libluajit-5.1.so.2 "$scratch/libluajit.so"
strip "$scratch/libluajit.so"
cat >"$scratch/host.py" <<'PY'
import ctypes, sys
lua = ctypes.CDLL(sys.argv[1])
lua.luaL_newstate.restype = ctypes.c_void_p
for name in "luaL_openlibs", "lua_close":
    getattr(lua, name).argtypes = [ctypes.c_void_p]
lua.luaL_loadfile.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
lua.lua_pcall.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_int]
for n in range(2):  # Two VMs, one after the other: addresses may be re-used.
    L = lua.luaL_newstate()
    lua.luaL_openlibs(L)
    assert lua.luaL_loadfile(L, sys.argv[2].encode()) == 0 and lua.lua_pcall(L, 0, 0, 0) == 0
    lua.lua_close(L)
PY
# (With -c bpftrace searches before the library is mapped.)
bt_file=$scratch/calls.txt
watch -o "$bt_file" "$probes/lua-calls.bt" "$scratch/libluajit.so"
python3 "$scratch/host.py" "$scratch/libluajit.so" "$here/programs/mixed.lua"
caught_up
leave
"$analyze" --strict "$scratch/calls.txt" >"$scratch/summary" || fail "library: $(tail -n 1 "$scratch/summary")"
"$analyze" --json "$scratch/calls.txt" >"$scratch/json"
same "states" "$(jq '.trace.files[0].streams | length' "$scratch/json")" 2
same "calls of fib" "$(jq '.functions[] | select(.name == "fib") | .calls' "$scratch/json")" 930
