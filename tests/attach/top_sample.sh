#!/bin/bash
# SPDX-License-Identifier: MIT
#
# luatrace top --sample: tables of a running process by samples; what it does not go with.
source "$(dirname "$0")/lib.sh"
source "$here/../sample/lib.sh"
top=$bin/luatrace-top
needs_sampling "$bin/luatrace-record"
gate "$bin/luajit" "$here/top.lua" "$scratch"
ready

# The first table is of a part of a second; on a busy machine no sample is in it.
"$bin/luatrace" top -p $target -n 1s --count 3 --sample=499 --limit 100 >"$scratch/tables" || fail "status $?"
tables=$(grep -cE '^samples +inclusive +inclusive % +self▼ +self % +function' "$scratch/tables")
[ "$tables" -ge 2 ] || fail "$tables tables: $(cat "$scratch/tables")"
sums=$(grep -cE '^[0-9.]+ m?s of CPU time in 1 thread: [0-9,]+ samples?, 0 lost \(0 in all\)$' "$scratch/tables" || true)
same "sums of $(cat "$scratch/tables")" "$tables" "$sums"
# serve is on every stack, and work is where the time goes.
same "rows of serve" "$tables" "$(grep -cE '^ *[1-9][0-9,]* +[0-9.]+ (us|ms|s) +(100\.0|9[0-9]\.[0-9]) .* serve  \(' "$scratch/tables")"
same "rows of work" "$tables" "$(grep -cE '^ *[1-9][0-9,]* .* work  \(' "$scratch/tables")"
[ "$(grep -cE '\((.*/)?libc|\(.*/luajit\)' "$scratch/tables")" -ge 2 ] || fail "no C function: $(cat "$scratch/tables")"
"$top" -p $target -n 500ms --count 1 --sample --sort samples --limit 1 >"$scratch/tables"
grep -qE '^samples▼' "$scratch/tables" || fail "not sorted by samples: $(cat "$scratch/tables")"

# A process that sleeps: the tables come all the same.
"$bin/luajit" -e 'local ffi = require("ffi") ffi.cdef("int usleep(unsigned);") ffi.C.usleep(60000000)' &
sleeper=$!
started+=($sleeper)
runs $sleeper "$bin/luajit"
settles $sleeper
timeout 20 "$top" -p $sleeper -n 300ms --count 2 --sample >"$scratch/tables" 2>/dev/null || [ $? = 124 ] || fail "a sleeping process: status $?"
same "tables of a sleeping process" 2 "$(grep -c '^no sample came' "$scratch/tables")"

refuses "^luatrace-top: --sample excludes --requests" "$top" -p $target --sample --requests
refuses "^luatrace-top: --sort: invalid value 'calls' with --sample; choose self, " "$top" -p $target --sample --sort calls
refuses "^luatrace-top: --sample: '0' is not a number between 1 and 10,000" "$top" -p $target --sample=0
refuses "^luatrace-top: --sample excludes --include" "$top" -p $target --sample --include x
refuses "no such process" "$top" -p 999999999 --sample
if command -v setpriv >/dev/null; then
  refuses "luatrace-top: --sample: .*(permission|permitted|privileges|root)" \
    setpriv --reuid 65534 --regid 65534 --clear-groups "$top" -p $$ --sample
fi
touch "$scratch/end"
ended
