#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A LuaJIT whose ABI note cannot be used, or that has none of our notes: only C functions are sampled. That is said,
# once, with -q, too, and also of processes that end soon.
#
#   refused.sh RECORD LUAJIT
source "$(dirname "$0")/../lib.sh"
source "$(dirname "$0")/lib.sh"
record=$1 luajit=$2
needs_sampling "$record"

# A kernel without a description of its types; and nothing to sample, in a container whose first process we are.
if unshare -m true 2>/dev/null; then
  refuses "the kernel has no description of its types" unshare -m sh -c 'mount -t tmpfs none /sys/kernel/btf && exec "$@"' sh \
    "$record" --sample 99 -o "$scratch/x.bin" -- true
fi
if unshare -pf --mount-proc true 2>/dev/null; then
  refuses "nothing was recorded and no file was written" unshare -pf --mount-proc "$record" --sample 99 -a -d 0.5 -o "$scratch/x.bin"
fi

# Copies with one change each: the checksum of the interpreter's code, the number of its rules, the note's version.
python3 - "$luajit" "$scratch" <<'END'
import re, struct, sys
data = open(sys.argv[1], "rb").read()
note = re.search(rb"\x09\0\0\0..\0\0\x02\0\0\0luatrace\0", data, re.S).start()  # name, contents, type
contents = note + 12 + 12
link = contents + 544  # where the rules are
rules = link + struct.unpack_from("<q", data, link)[0]
size, text, crc, count, fields = struct.unpack_from("<IIIII", data, rules)
assert size == 20 + 4 * (count + fields) and count > 0, (size, count, fields)

def write(name, at, value):
    copy = bytearray(data)
    struct.pack_into("<I", copy, at, value)
    with open(sys.argv[2] + "/" + name, "wb") as f:
        f.write(copy)

write("checksum", rules + 8, crc ^ 1)
write("rules", rules + 12, count + 1)
write("version", contents, 99)
write("small", contents + 4, 551)
write("older", contents + 4, 552)  # without names of builtins, numbers of coroutines, labels
with open(sys.argv[2] + "/plain", "wb") as f:  # the notes are somebody else's
    f.write(data.replace(b"luatrace\0", b"LUAtrace\0"))
END
cat >"$scratch/busy.lua" <<'END'
local function busy(cpu) while os.clock() < cpu do end end
busy(0.3)
END

refused() { # NAME REASON
  chmod +x "$scratch/$1"
  "$record" --sample 997 "${@:3}" -o "$scratch/$1.bin" -- bash -c 'for i in 1 2 3; do "$0" "$1"; done' \
    "$scratch/$1" "$scratch/busy.lua" 2>"$scratch/$1.err" || fail "$1: status $?"
  same "messages about $1" "$(grep -c "only its C functions are sampled: .*/$1$2" "$scratch/$1.err" || true)" 1
  samples "$scratch/$1.bin" >"$scratch/$1.txt"
  [ "$(grep -c "N:.*/$1" "$scratch/$1.txt" || true)" -gt 20 ] || fail "$1: no C functions"
  same "Lua functions with $1" "$(grep -c 'L:' "$scratch/$1.txt" || true)" 0
}
refused checksum ' cannot be used: .*(wrong checksum)'
refused rules ' cannot be used: the rules in its ABI note are invalid' -q
refused version ' cannot be used: its ABI note has version 99'
refused small ' cannot be used: its ABI note has version 1 and 551 bytes; this recorder needs version 1 with 552'
plain=': LuaJIT 2.*, without tracepoints; replace it by a LuaJIT with tracepoints'
refused plain "$plain"
refused plain "$plain" -q

"$scratch/plain" -e 'local t = os.clock() while os.clock() - t < 60 do end' &
pid=$!
works $pid 5
"$record" --sample 997 -q -o "$scratch/p.bin" -p $pid -d 0.5 2>"$scratch/p.err" || fail "-p: status $?"
same "messages with -p" "$(grep -c "process $pid: only its C functions are sampled: .*/plain$plain" "$scratch/p.err" || true)" 1

# An older note is used as far as it goes.
cp "$luajit" "$scratch/newer"
for name in older newer; do
  chmod +x "$scratch/$name"
  "$record" --sample 997 -q -o "$scratch/$name.bin" -- "$scratch/$name" -e 'local t = {} while os.clock() < 0.3 do for i = 1, 99 do t[i] = i * 7919 % 101 end table.sort(t) end'
  samples "$scratch/$name.bin" >"$scratch/$name.txt"
done
grep -Eq 'coroutine:0;.*builtin#[0-9]+(;|$)' "$scratch/older.txt" || fail "no builtins by number with an older note"
grep -Eq 'coroutine:1;.*builtin#table\.sort(;|$)' "$scratch/newer.txt" || fail "no builtins by name"
same "names of builtins with an older note" "$(grep -c 'builtin#[a-z]' "$scratch/older.txt" || true)" 0
