#!/bin/bash
# SPDX-License-Identifier: MIT
# Difficult stacks of the real VM: reports that are longer than a block, blocks that begin in the
# middle of reports, losses between coroutines. The trust line has nothing but losses.
#   stacks.sh BUILD
source "$(dirname "$0")/../attach/lib.sh"
cd "$scratch"

cat >deep.lua <<'END_OF_PROGRAM'
local depth, coroutines = tonumber(arg[1]), tonumber(arg[2])
local function work()
  io.open("ready", "w"):close()
  for _ = 1, 300 do
    local stop = io.open("stop")
    if stop then return end
    local t = os.clock()
    while os.clock() - t < 0.02 do coroutine.yield(tostring(t)) end
  end
end
local function down(n) if n == 0 then work() else down(n - 1) end return n end
local list = {}
for i = 1, coroutines do list[i] = coroutine.create(down) end
local alive = true
while alive do
  alive = false
  for i = 1, coroutines do
    if coroutine.status(list[i]) == "suspended" then
      assert(coroutine.resume(list[i], depth))
      alive = true
    end
  end
end
END_OF_PROGRAM

# attached DEPTH COROUTINES: attaches to deep.lua until it has done something; the trace is trace.bin.
attached() {
  rm -f ready stop
  begin "$bin/luajit" deep.lua "$1" "$2"
  ready
  record -p $target
  recording
  works $target 30
  kill -INT $recorder
  finish 0
  : >stop
  ended
}
# trust FILE: analyzes it, for counter NAME.
trust() { "$bin/luatrace-analyze" -q --json "$1" >json || fail "$1 cannot be read"; }
counter() { jq ".trust.$1" json; }

attached 9000 1
trust trace.bin
same "anomalies of 9,000 calls" "$(counter anomalies)" "$(counter lost)"
[ "$(counter open_start)" -ge 9000 ] || fail "the report has only $(counter open_start) calls"

attached 12 400
trust trace.bin
same "anomalies of 400 coroutines" "$(counter anomalies)" "$(counter lost)"
[ "$(counter open_start)" -ge 4000 ] || fail "the reports have only $(counter open_start) calls"

# A small ring and coroutines one after the other: losses begin and end in different ones.
cat >many.lua <<'END_OF_PROGRAM'
local function leaf(x) return x end
local function mid(x) local s = 0 for i = 1, 50 do s = s + leaf(i) end return s end
local t, n = os.clock(), 0
while os.clock() - t < 0.4 do n = n + 1 coroutine.resume(coroutine.create(mid), 1) end
print(n)
END_OF_PROGRAM
n=$("$bin/luatrace-record" -q -o many.bin --ring-size 256K -- "$bin/luajit" many.lua 2>err) || fail "$(cat err)"
trust many.bin
same "anomalies of many coroutines" "$(counter anomalies)" "$(counter lost)"
seen=$(jq .trace.coroutines json)
[ "$seen" -le $((n + 1)) ] || fail "$seen coroutines, of which $n were made"
# Each coroutine has as many events, so this many must be in the trace (less 10%) of those not lost.
kept=$(jq --argjson n "$n" '.trust | $n * .events / (.events + .lost) * 0.9 | floor' json)
[ "$seen" -ge "$kept" ] || fail "only $seen of $n coroutines: $(jq -c .trust json)"

# What a block of the ring begins with names the coroutine that the words before made current.
"$bin/luatrace-record" -q -o whole.bin --ring-size 256K --block --max-size 8M -- "$bin/luajit" many.lua >out 2>err ||
  fail "$(cat err)"
"$bin/luatrace-analyze" --dump whole.bin | awk '
  $3 == "resume" { by[$4] = now; now = $4 }
  $3 == "suspend" { now = by[now] }
  $3 == "switch" || $3 == "stack" { now = $4 }
  $3 == "ringblock" { n++; split($4, co, "="); if (co[2] != 4294967295) { if (now != "" && co[2] != now) bad++; now = co[2] } }
  END { print (n > 20 && !bad) ? "good" : "of " n " heads " bad " are wrong" }' >heads
same "the heads of blocks" "$(cat heads)" good
