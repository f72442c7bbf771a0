#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The ledger of each request of a real nginx against what its locations do and against nginx's own
# clock ($request_time).
#   requests.sh SOURCE BUILD
source "$(dirname "$0")/../lib.sh"
source=$1 build=$2
source "$source/tests/nginx/nginx.sh"
user=
[ "$(id -u)" -ne 0 ] || user='user root;'
for name in a b c access; do echo 'ngx.ctx.name = ngx.var.uri if ngx.get_phase() == "content" then ngx.say("file") end' >$name.lua; done
start_nginx "$source/tests/nginx/requests.conf" "$user" busy
worker=$(pgrep -P $master)
started+=($worker)

# visit URI...: one after the other
visit() { for uri in "$@"; do curl -sS -m 20 "http://127.0.0.1:$port/$uri" >/dev/null || fail "/$uri"; done; }

# luatrace top --requests: what ended, and while /long sleeps, what is open.
"$build/bin/luatrace-top" -p "$worker" --requests -n 300ms >tables 2>top.err &
top=$!
started+=($top)
watched() { answers && grep -q ' ended (' tables; }
within 20 "luatrace top" watched
visit long &
long=$!
open() { grep -A2 '^1 open request, ' tables | grep -E ' ngx\.sleep [0-9.]+ m?s +content [0-9.]+ [a-z]+ \+ ' >/dev/null; }
within 20 "an open request" open
wait $long
visit sleep busy
ended() { grep -qE "$1" tables; }
within 20 "the long request in a table" ended ' 1\.[5-9][0-9]* s .* ngx\.sleep 1\.[5-9]'
within 20 "the sleeping request in a table" ended ' [1-9][0-9][0-9](\.[0-9])? ms .* ngx\.sleep [1-9][0-9][0-9]'
kill -TERM $top
wait $top || fail "luatrace top ended with $?: $(cat top.err)"

# record FILE: begins to record the worker; recorded: ends it
record() {
  "$build/bin/luatrace-record" -v -o "$1" -p "$worker" 2>record.err &
  recorder=$!
  started+=($recorder)
  attached() { answers && grep -q 'first event' record.err; }
  within 20 "the recorder" attached
}
recorded() {
  kill -INT $recorder
  wait $recorder || fail "the recorder ended with $?: $(cat record.err)"
}

# All on one connection, with the same address for each: what a location runs shows where it begins.
record bare.bin
uris="a b c a b c content content access content access content a exit a both both a b both exit b"
# shellcheck disable=SC2046
curl -sS -m 20 -H 'Host: bare' $(printf "http://127.0.0.1:$port/%s " $uris) >bare.txt || fail "the server without a log phase"
recorded
"$build/bin/luatrace-analyze" --json --requests --limit 0 bare.bin >bare.json || fail "luatrace-analyze --requests"
python3 "$source/tests/nginx/requests.py" --bare bare.json "$uris"

record trace.bin
: >access.log  # nginx appends
for turn in 1 2 3 4 5; do visit sleep busy subrequest threads wrap timer socket; done
cp access.log sequence.log
# Two at a time, by one process, so that no other one comes between: while the one sleeps the other holds the worker.
for turn in 1 2 3 4 5; do
  curl -sS -m 20 -Z --parallel-immediate -o sleep.txt "http://127.0.0.1:$port/sleep" -o busy.txt "http://127.0.0.1:$port/busy" 2>curl.err ||
    fail "/sleep and /busy: $(cat curl.err)"
done
recorded
! grep -F '[error]' error.log || fail "nginx has logged errors"

"$build/bin/luatrace-analyze" --json --requests --limit 0 trace.bin >requests.json || fail "luatrace-analyze --requests"
"$build/bin/luatrace-analyze" --json --turns --limit 0 trace.bin >turns.json || fail "luatrace-analyze --turns"
python3 "$source/tests/nginx/requests.py" requests.json turns.json sequence.log
