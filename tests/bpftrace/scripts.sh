#!/bin/bash
# SPDX-License-Identifier: MIT
# lua-top.bt, lua-slow.bt, lua-coroutines.bt, lua-errors.bt: known programs, known results. By path,
# and attached to a process.
. "$(dirname "$0")/lib.sh"

# count MAP KEY [?]: the sum of the values printed for it; with the mark of a name from a call.
count() {
  awk -v want="@$1[$2, ${3-}]: " 'index($0, want) == 1 { n += substr($0, length(want) + 1) } END { print n + 0 }' "$scratch/bt.out"
}
run() {
  local script=$1
  shift
  (cd "$scratch" && trace -c "$luajit program.lua" "$probes/$script" "$luajit" "$@")
}

# -- lua-top: calls, and time that adds up --
cat >"$scratch/program.lua" <<'LUA'
local function busy(ms) local t = os.clock() while os.clock() - t < ms / 1000 do end end
local function leaf(x) return x + 1 end
local function outer() busy(20) local s = leaf(1) return s end
local function bad() error("x") end
for i = 1, 500 do leaf(i) end
for i = 1, 3 do outer() end
for i = 1, 4 do pcall(bad) end
local co = coroutine.wrap(function() busy(10) coroutine.yield() end)
co()
outer()
local function again(n) if n == 0 then busy(40) return 1 end local x = again(n - 1) return x + 1 end
for i = 1, 2 do again(9) pcall(again, 4) end
LUA
run lua-top.bt
same "calls of leaf" "$(count calls '@program.lua, 2, leaf')" 504
same "calls of outer" "$(count calls '@program.lua, 3, outer')" 4
same "calls of busy" "$(count calls '@program.lua, 1, busy')" 9
same "calls of again" "$(count calls '@program.lua, 11, again')" 30
same "calls of error" "$(count calls 'C, 0, error')" 4
same "calls of main" "$(count calls '@program.lua, 0, main')" 1
outer=$(count inclusive_us '@program.lua, 3, outer') busy=$(count inclusive_us '@program.lua, 1, busy')
self=$(count self_us '@program.lua, 3, outer') main=$(count inclusive_us '@program.lua, 0, main')
[ "$outer" -ge 80000 ] || fail "outer: $outer us in total"
again=$(count inclusive_us '@program.lua, 11, again') # of its 30 calls 4 are not inside others of it
[ "$again" -ge 160000 ] && [ "$again" -le "$main" ] || fail "again: $again us in total, main $main"
[ "$busy" -ge 90000 ] || fail "busy: $busy us in total"
[ "$self" -lt "$outer" ] && [ "$outer" -le "$main" ] || fail "outer $outer (self $self), main $main"

# -- Names are those of the analyzer: what they come from is marked, equal ones are told apart --
cat >"$scratch/program.lua" <<'LUA'
package.cpath = "./?.so"
local users = require("users")
local function named() return 1 end
local list = { function() return 2 end,
  function() return 3 end }
for i = 1, 3 do named() end
for i = 1, 5 do local passed = list[1] passed() end
for i = 1, 7 do local passed = list[2] passed() end
for i = 1, 9 do users.name() end
local hidden, late = users.give("hidden"), users.give("late")
for i = 1, 11 do local taken = hidden taken() end
for i = 1, 13 do local taken = late taken() end
LUA
"$3" -shared -fPIC -I"$2" "$here/../names/users.c" -o "$scratch/users.so"
run lua-top.bt
(cd "$scratch" && "$bin/luatrace-record" -q -o names.bin -- "$luajit" program.lua)
rm "$scratch/users.so"  # Without the file there are no symbols, which no script sees.
"$analyze" --json "$scratch/names.bin" 2>"$scratch/analyze.err" |
  jq -r '.functions[] | select(.calls > 2) | "\(.calls) \(.name)\(if .hint then "?" else "" end)"' |
  grep -v file: | sort -n >"$scratch/want"
sed -n 's/^@calls\[\(.*\), \([^,]*\), \(.*\), \(?\{0,1\}\)\]: \(.*\)/\5 \3\4/p' "$scratch/bt.out" | awk '$1 > 2' | grep -v file: | sort -n >"$scratch/names"
same "names" "$(cat "$scratch/names")" "$(cat "$scratch/want")"
same "marked names" "$(grep -c '?$' "$scratch/names")" 4
grep -qx '(?: named after a call of it, as nothing else names it)' "$scratch/bt.out" || fail "no footnote"

# -- lua-slow: the slow ones and only they, with callers --
cat >"$scratch/program.lua" <<'LUA'
local function wait(ms) local t = os.time() io.popen("sleep " .. ms / 1000):close() return t end
local function slow() wait(300) local x = 1 return x end
local function outer() slow() for i = 1, 100 do math.sin(i) end local x = 1 return x end
local function sleeper() coroutine.yield() local x = 1 return x end
outer()
local co = coroutine.create(function() sleeper() return 1 end)
coroutine.resume(co)
wait(400)
coroutine.resume(co)
LUA
run lua-slow.bt 250
sed -n 's/^[0-9]* us (suspended \([0-9]*\)[0-9]\{5\} us) pid [0-9]*: /\1 /p; s/^[0-9]* us (suspended [0-9]\{1,5\} us) pid [0-9]*: /0 /p; /called by/p' \
  "$scratch/bt.out" | sed 's/^\([1-9]\) /some /' >"$scratch/slow"
same "slow calls" "$(cat "$scratch/slow")" "0 C function file:close
    called by @program.lua:1 wait
    called by @program.lua:2 slow
    called by @program.lua:3 outer
    called by @program.lua:0 main
0 @program.lua:1 wait
    called by @program.lua:2 slow
    called by @program.lua:3 outer
    called by @program.lua:0 main
0 @program.lua:2 slow
    called by @program.lua:3 outer
    called by @program.lua:0 main
0 @program.lua:3 outer
    called by @program.lua:0 main
0 C function file:close
    called by @program.lua:1 wait
    called by @program.lua:0 main
0 @program.lua:1 wait
    called by @program.lua:0 main
some C function coroutine.yield
    called by @program.lua:4 sleeper
    called by @program.lua:6 ?
some @program.lua:4 sleeper
    called by @program.lua:6 ?
some @program.lua:6 ?
0 @program.lua:0 main"
# Without a number the limit is 10 ms, and the script says so.
run lua-slow.bt
grep -q '^calls of 10 ms and longer' "$scratch/bt.out" || fail "no message about the default limit: $(cat "$scratch/bt.out")"
grep -q ' us (suspended .* wait$' "$scratch/bt.out" || fail "nothing is slow: $(cat "$scratch/bt.out")"
! awk '/^[0-9]+ us .suspended/ && $1 < 10000' "$scratch/bt.out" | grep . || fail "that is not slow"

# -- lua-coroutines --
cat >"$scratch/program.lua" <<'LUA'
local function nap(ms) io.popen("sleep " .. ms / 1000):close() end
local function inner() coroutine.yield() end
local function body(n) for i = 1, n do inner() end end
local a, b = coroutine.create(body), coroutine.create(body)
coroutine.resume(a, 3) coroutine.resume(b, 2)
nap(300)
coroutine.resume(a) coroutine.resume(a) coroutine.resume(a)
coroutine.resume(b)
local c = coroutine.create(function() error("x") end)
coroutine.resume(c)
LUA
run lua-coroutines.bt
same "yields" "$(count yields '@program.lua, 2, inner')" 5
wait=$(count longest_wait_us '@program.lua, 2, inner')
[ "$wait" -ge 300000 ] || fail "longest wait: $wait us"
for line in "@created: 3" "@returned: 1" "@failed: 1"; do
  grep -qxF "$line" "$scratch/bt.out" || fail "no '$line' in: $(cat "$scratch/bt.out")"
done

# -- lua-errors --
cat >"$scratch/program.lua" <<'LUA'
local function raise() error("x") end
local function index() local t = nil; return t.x end
local function middle() raise() return 1 end
local function catcher(f) pcall(f) return 1 end
for i = 1, 6 do catcher(middle) end
for i = 1, 5 do catcher(index) end
for i = 1, 2 do coroutine.resume(coroutine.create(function() raise() return 1 end)) end
LUA
run lua-errors.bt
same "raised by error()" "$(count raised 'C, 0, error')" 6
same "raised by an index" "$(count raised '@program.lua, 2, index')" 5
same "caught" "$(count caught '@program.lua, 4, catcher')" 11
same "killed" "$(count killed 'C, 0, error')" 2

# Many coroutines that are suspended nearly all of the time: none of that is time of a function, not
# even when bpftrace leaves the probes one by one.
cat >"$scratch/many.lua" <<'LUA'
local function wait() coroutine.yield() end
local function work() wait() return 1 end
local all = {}
for i = 1, 100 do all[i] = coroutine.wrap(function() while true do work() end end) end
for turn = 1, 1e8 do
  for i = 1, 100 do all[i]() end
  if io.open(arg[1]) then break end
end
LUA
(cd "$scratch" && exec "$luajit" many.lua "$scratch/stop") &
server=$!
began=$(date +%s%N)
attach $server "$probes/lua-top.bt"
attached $server lua-top.bt
works $server 50
leave
work=$(count inclusive_us '@many.lua, 2, work') elapsed=$((($(date +%s%N) - began) / 1000))
[ "$work" -gt 0 ] && [ "$work" -le "$elapsed" ] || fail "work: $work us in total, in $elapsed us"
touch "$scratch/stop"
wait $server || fail "the program ended with $?"
rm "$scratch/stop"

# -- Attached --
"$luajit" "$here/programs/server.lua" "$scratch/stop" >"$scratch/printed" &
server=$!
for script in lua-top.bt lua-coroutines.bt lua-errors.bt "lua-slow.bt * 5"; do
  set -f
  set -- $script
  set +f
  script=$1
  shift
  attach $server "$probes/$script" "$@"
  attached $server "$script"
  sleeps $server 100 # once or twice in each
  caught_up
  leave
  case $script in
    lua-top.bt) want='@calls[@' ;;
    lua-coroutines.bt) want='@yields[@' ;;
    lua-errors.bt) want='@caught[@' ;;
    *) want='    called by @' ;;
  esac
  grep -qF "$want" "$scratch/bt.out" || fail "$script on a process: $(cat "$scratch/bt.out" "$scratch/bt.err")"
done
touch "$scratch/stop"
wait $server || fail "the program ended with $?"
