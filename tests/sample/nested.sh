#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Two Lua VMs inside each other on one thread: Lua and C functions of both, in the order of their calls.
#
#   nested.sh RECORD BUILD_OF_FLAVOUR COMPILER plain|coroutines on|off WORK HZ [OPTION]
#
# With little WORK many samples are where a VM is entered or left.
source "$(dirname "$0")/../lib.sh"
source "$(dirname "$0")/lib.sh"
record=$1 build=$2 cc=$3 mode=$4 jit=$5 work=$6 hz=$7 option=${8:-}
needs_sampling "$record"

host nested
LD_LIBRARY_PATH=$build "$record" --sample "$hz" $option -q -o "$scratch/n.bin" -- "$scratch/nested" "$sample_here/nested.lua" 1.5 "$mode" "$jit" "$work"
samples "$scratch/n.bin" >"$scratch/n.txt"
python3 - "$scratch/n.txt" "$option" <<'END'
import collections, re, sys
RUN, STEP = 15, 7  # lines
right, wrong, lost, first = collections.Counter(), collections.Counter(), [], 0
for number, line in enumerate(open(sys.argv[1])):
    lua, native = [], False  # VM, line, with a C function before it or not
    frames = line.rstrip("\n").split(" ", 2)[2].split(";")
    for f in frames:
        m = re.match(r"L:=(.):(\d+):", f)
        if m:
            lua.append((m[1], int(m[2]), native))
        native = not m and (native or f.startswith(("N:", "C:", "builtin")))
    if not lua:
        continue
    if lua[0][:2] != ("a", RUN) or "unknown" in frames:
        if lua[0][1] != 0:  # of the main chunk
            lost.append(number)
        continue
    depth, vm, ok = 0, "a", True
    for name, at, c in lua[1:]:
        if at == STEP:
            vm, depth = "ab"[depth % 2], depth + 1
            ok = ok and (depth == 1 or c or sys.argv[2] == "--lua-only")
        ok = ok and name == vm
    if ok and depth > 1 and first == 0:
        first = number
    (right if ok else wrong)["%d steps" % depth if ok else ";".join(frames)] += 1
print(dict(right), len(lost), "with unknown functions,", len([n for n in lost if n > first]), "of them late")
print(*wrong.most_common(5), sep="\n", file=sys.stderr)
# Other VMs are looked for from the moment on at which the first stack without them has been read.
late = [n for n in lost if n > first]
sys.exit(bool(wrong) or len(late) * 200 > sum(right.values()) or right["6 steps"] < 50)
END
