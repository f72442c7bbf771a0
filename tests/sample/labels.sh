#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Each sample has the labels of the coroutine that runs, and the number of it: never those of one that has ended, whose
# address it has, nor of one in a Lua VM that was closed.
#
#   labels.sh RECORD ANALYZE BUILD_OF_FLAVOUR COMPILER on|off
source "$(dirname "$0")/../lib.sh"
source "$(dirname "$0")/lib.sh"
record=$1 analyze=$2 build=$3 cc=$4 jit=$5
needs_sampling "$record"

host labels
{ [ "$jit" = on ] || echo 'jit.off()'; cat "$sample_here/labels.lua"; } >"$scratch/labels.lua"
LD_LIBRARY_PATH=$build "$record" --sample 1997 -q -o "$scratch/l.bin" -- "$scratch/labels" "$scratch/labels.lua" 0.5 4
python3 "$sample_here/samples.py" "$scratch/l.bin" --labels >"$scratch/l.txt"
python3 - "$scratch/l.txt" <<'END'
import collections, sys
numbers, names, tenants, wrong = {}, {}, collections.Counter(), []
for line in open(sys.argv[1]):
    tid, state, number, labels, stack = line.rstrip("\n").split(" ")
    labels = {} if labels == "-" else dict(l.split("=") for l in labels.split(","))
    shown, _, frames = stack.rpartition("coroutine:")[2].partition(";")
    if number != "0" and shown != number:
        wrong.append("coroutine %s, in the stack %s" % (number, shown))
    for f, tenant in (("work_a", "a"), ("work_b", "b"), ("work_main", None), ("inherits", "a")):
        if ":" + f in frames:
            tenants[tenant] += 1
            if labels.get("tenant") != tenant:
                wrong.append("%s: %s" % (f, labels))
    if "co" in labels:
        name = labels["co"]
        if numbers.setdefault(name, number) != number or names.setdefault(number, name) != name:
            wrong.append("coroutine %s: %s, before %s %s" % (number, name, numbers[name], names.get(number)))
print("%d samples with labels, of %d coroutines: %s" % (sum(tenants.values()), len(numbers), dict(tenants)))
print(*wrong[:10], sep="\n", file=sys.stderr)
sys.exit(bool(wrong) or min(tenants["a"], tenants["b"], tenants[None]) < 50 or len(numbers) < 100 or "0" in names)
END

# The analyzer's groups.
"$analyze" -q --format folded --group-by label:tenant "$scratch/l.bin" >"$scratch/tenants"
share() { awk "$1 { n += \$NF } END { print n + 0 }" "$scratch/$2"; }
a=$(share '/^a;/' tenants) b=$(share '/^b;/' tenants) none=$(share '/^\[no label\];/' tenants)
[ "$b" -gt 0 ] && [ "$a" -gt "$b" ] && [ "$none" -gt 0 ] || fail "groups: a $a, b $b, none $none"
same "work of b in other groups" "$(share '/work_b/ && !/^b;/' tenants)" 0
same "work of the main coroutine in groups" "$(share '/work_main/ && !/^\[no label\];/' tenants)" 0
"$analyze" -q --format folded --group-by label:co "$scratch/l.bin" >"$scratch/many"
same "groups, with those of none and of other values" "$(cut -d";" -f1 "$scratch/many" | sort -u | wc -l)" 102
"$analyze" -q --format folded --group-by coroutine "$scratch/l.bin" >"$scratch/coroutines"
same "coroutines with the work of b" "$(grep 'work_b' "$scratch/coroutines" | cut -d';' -f1 | sort -u | wc -l)" 4
"$analyze" -q --format pprof --group-by label:tenant -o "$scratch/l.pb.gz" "$scratch/l.bin"
gunzip -c "$scratch/l.pb.gz" | strings >"$scratch/strings"
grep -Eqx '.?.?tenant' "$scratch/strings" || fail "pprof has no label"

# The text form has them, too.
"$analyze" --dump "$scratch/l.bin" >"$scratch/l.text"
"$analyze" -q --format folded --group-by label:tenant "$scratch/l.text" >"$scratch/again"
diff "$scratch/tenants" "$scratch/again" || fail "the text form has others"
