#!/bin/bash
# SPDX-License-Identifier: MIT
#
# --group-by phase and plugin, with a small gateway in which Kong's and APISIX's plugins have their
# usual folders (programs/gateway), recorded from the real VM.
#   plugins_test.sh LUATRACE-ANALYZE LUATRACE-RECORD LUAJIT
. "$(dirname "$0")/../lib.sh"
analyze=$1 record=$2 luajit=$3
gateway=$(dirname "$(realpath "$0")")/programs/gateway

calls() {
  # Without what depends on when the VM collects garbage and compiles.
  "$analyze" -q --json --report --limit 0 -H '/^\[(GC|JIT)\]/' "$@" "$scratch/trace.bin" 2>"$scratch/err" |
    jq -c '[.report[] | [.name, .calls]] | sort' || fail "$*: $(cat "$scratch/err")"
}

for jit in -joff -jon; do
  "$record" -q -o "$scratch/trace.bin" --force --exclude '*host.lua' --c-functions none \
    -- "$luajit" $jit "$gateway/host.lua" || fail "cannot record"
  # Ten requests. access: block, run, access, work; fetch and work of the light thread. content:
  # block, run, content, count, work. log: block, run, log, count, work. Three timers: tick, work. The
  # rest is what the host calls on the main coroutine: three chunks of files, and load twice.
  same "$jit: phases" '[["[no phase]",5],["access",60],["content",50],["log",50],["timer",6]]' \
    "$(calls --group-by phase)"
  # auth is called for access and log, and creates a light thread; limit is called for content only:
  # in log it is auth's. The chunks of both files run below load.
  same "$jit: plugins" '[["[no plugin]",36],["auth",31],["limit",11]]' "$(calls --group-by plugin)"
  same "$jit: plugins of another layout" '[["[no plugin]",36],["plugins/auth/handler",31]]' \
    "$(calls --group-by plugin --plugin 'kong/*.lua')"
  same "$jit: the coroutines of a plugin" '["auth"]' \
    "$("$analyze" -q --json --group-by plugin -F fetch "$scratch/trace.bin" | jq -c '[.functions[] | select(.calls > 0) | .name]')"
done
