#!/bin/bash
# SPDX-License-Identifier: MIT
#
# There are places for 32 LuaJITs at a time; that of one that no process has any more is given to
# another. 40 of them, one after the other, each with Lua functions in its samples; then 33 at a time:
# one has none, until another has ended.
#
#   places.sh RECORD LUAJIT
source "$(dirname "$0")/../lib.sh"
source "$(dirname "$0")/lib.sh"
record=$1 luajit=$2
needs_sampling "$record"

# LuaJITs that differ in a member of the ABI note which samples do not need (g_size).
python3 - "$luajit" "$scratch" <<'END'
import re, struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
note = re.search(rb"\x09\0\0\0..\0\0\x02\0\0\0luatrace\0", data, re.S).start()  # name, contents, type
member = note + 12 + 12 + 76
for i in range(40):
    struct.pack_into("<i", data, member, 1000 + i)
    with open("%s/luajit%d" % (sys.argv[2], i), "wb") as f:
        f.write(data)
END
chmod +x "$scratch"/luajit*
cat >"$scratch/busy.lua" <<'END'
local last = os.time() + 100 -- whatever becomes of the test
local function busy(cpu) while os.clock() < cpu and os.time() < last do end end
busy(tonumber(arg[1]))
END

# Each ends once it has worked while it was recorded.
cat >"$scratch/each.sh" <<'END'
source "$1"
for i in {0..39}; do
  "$2/luajit$i" "$2/busy.lua" 90 &
  within 60 "process $! to be recorded" grep -q "process $! (luajit$i) is being recorded" "$2/p.err"
  works $! 20
  kill -9 $!
  wait $! 2>/dev/null || true
done
END
: >"$scratch/p.err"
"$record" --sample 997 -v -o "$scratch/p.bin" -- bash "$scratch/each.sh" "$(dirname "$0")/../lib.sh" "$scratch" \
  2>"$scratch/p.err"
samples "$scratch/p.bin" >"$scratch/p.txt"
found=$(awk '/:busy/ { print $1 }' "$scratch/p.txt" | sort -u | wc -l)
same "programs with Lua functions" "$found" 40

# Which one has none is said.
: >"$scratch/q.err"
"$record" --sample 97 -o "$scratch/q.bin" -- bash -c 'for i in {0..32}; do "$0/luajit$i" "$0/busy.lua" 300 & done; wait' \
  "$scratch" 2>"$scratch/q.err" &
recorder=$!
within 60 "word about the places" grep -q 'there are 32 other LuaJITs at the moment' "$scratch/q.err"
last=$(sed -nE 's/.*process ([0-9]+): only its C functions are sampled: there are 32 .*/\1/p' "$scratch/q.err")
others=$(pgrep -P "$(pgrep -P $recorder)" | grep -vx "$last")
same "programs beside it" "$(wc -w <<<"$others")" 32
# No file of theirs stays open: there may be thousands.
none_open() { [ -z "$(find "/proc/$recorder/fd" -lname '*/pagemap' 2>/dev/null || true)" ]; }
within 30 "their memory maps to be closed" none_open
kill -9 $others
works "$last" 200
kill -9 "$last"
wait $recorder || fail "status $?: $(cat "$scratch/q.err")"
samples "$scratch/q.bin" >"$scratch/q.txt"
[ "$(grep -c "^$last .*:busy" "$scratch/q.txt" || true)" -gt 20 ] || fail "it has no Lua functions: $(grep -c "^$last " "$scratch/q.txt")"
