#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Places in a worker of nginx in a container, under load, watched from the host (luatrace-record --watch):
# by function and by line, by the host's number of the process and by the container's. The values are
# those of the program, the number of hits is kept, and nothing stays in the container.
source "$(dirname "$0")/engine.sh"
need_containers
name=watch
run_nginx "$name"
app=$checkout/tests/nginx/app/shop.lua
entry=$(grep -n 'local function render_row' "$app" | cut -d: -f1)
line=$((entry + 1))
begin_load "$name"
pid=$(busy_worker "$name")
inside_pid=$(awk '$1 == "NSpid:" { print $NF }' "/proc/$pid/status")

# watched PID PLACE WHERE: twenty hits, with values that the condition allows; then the recording ends.
watched() {
  timeout 60 "$build/bin/luatrace-record" --watch "$2" --print item.id,item.price --when 'item.id == 8 and item.price >= 0' --count 20 -p "$1" \
    >"$scratch/values" 2>"$scratch/messages" || fail "$2: $? $(cat "$scratch/messages")"
  same "hits of $2" "$(wc -l <"$scratch/values")" 20
  same "hits of $2 with those values" "$(grep -cE " $3 render_row: item.id=8 item.price=[0-9]+\$" "$scratch/values")" 20
}
watched "$pid" render_row "/app/shop.lua:$entry"
watched "$inside_pid@$(master "$name")" "app/shop.lua:$line" "/app/shop.lua:$line"
wait_for "the switches to be off" all_off "$name"
changed=$(podman diff "$name" | grep -vE '^. /(etc|run|app)' || true)
[ -z "$changed" ] || fail "the container's files changed: $changed"
end_load
echo "$requests requests, $errors errors"
