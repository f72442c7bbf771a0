#!/bin/bash
# SPDX-License-Identifier: MIT
# docs/examples/call-budget: the calls of a program against a budget. The counts that the budget needs are
# the program's own.
#   budget.sh BIN EXAMPLE
source "$(dirname "$0")/../lib.sh"
example=$(readlink -f "$(dirname "$0")/../../docs/examples/call-budget")
[ -x "$1/luajit" ] && [ -x "$1/luatrace-record" ] || skip "luajit and luatrace-record are not built"
PATH=$1:$PATH
cd "$scratch"
cat >program.lua <<'END'
local function work(n) return n * 2 end
local function never() return 0 end
local sum = 0
for i = 1, 1000 do sum = sum + work(i) end
if arg[1] == "slow" then for i = 1, 500 do sum = sum + work(i) end never() end
if arg[1] == "fail" then os.exit(7) end
END
budget() {
  local expected=$1 status=0
  shift
  "$example" "$@" >out 2>err || status=$?
  [ $status = "$expected" ] || fail "call-budget $*: status $status instead of $expected: $(cat out err)"
}
printf '%s\n' '# calls of work' 'calls(work) > 1000' '' >calls
budget 0 calls luajit program.lua
budget 0 calls luajit -joff program.lua
budget 4 calls luajit program.lua slow
grep -F 'calls(work) > 1000 (is 1,500)' err >/dev/null || fail "message: $(cat err)"
printf 'calls(never) > 0' >slow
budget 4 slow luajit program.lua slow
budget 1 slow luajit program.lua # It does not occur: a name may be misspelt.
printf 'calls(work) >\n' >wrong
budget 1 wrong luajit program.lua
echo '# nothing' >empty
budget 2 empty luajit program.lua
budget 2 missing luajit program.lua
budget 7 calls luajit program.lua fail
budget 1 calls

# The example, with its JIT compiler and without: the same count.
for mode in -jon -joff; do
  luatrace-record -q --block -o trace.bin -- luajit $mode "$2" 1 >/dev/null
  luatrace-analyze --json trace.bin | jq '[.functions[] | select(.kind == "lua") | .calls] | add' >>counts
done
same "calls with and without the JIT compiler" "$(sed -n 1p counts)" "$(sed -n 2p counts)"
