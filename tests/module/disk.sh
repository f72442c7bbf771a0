#!/bin/bash
# SPDX-License-Identifier: MIT
#
# dump_to on a full disk leaves an older report as it is, and no other file.
source "$(dirname "$0")/../lib.sh"
[ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null || skip "a file system of its own needs root"
cat >"$scratch/dump.lua" <<'EOF'
local trace = require "luatrace"
local path = ...
assert(trace.start())
for i = 1, 200 do loadstring("return " .. i, "=chunk" .. i)() end
assert(trace.stop())
assert(trace.dump_to(path))
assert(os.execute("chmod 640 " .. path .. " && cp -p " .. path .. " " .. path .. ".copy; dd if=/dev/zero of=" .. path .. ".fill bs=4k 2>/dev/null; true") == 0)
local ok, why = trace.dump_to(path, { format = "json" })
assert(not ok and why:find(path .. ": No space left on device", 1, true), why)
assert(trace.dump_to("/dev/null"))
assert(os.execute("cmp " .. path .. " " .. path .. ".copy") == 0, "the older report has changed")
os.remove(path .. ".fill")
assert(trace.dump_to(path))
assert(io.open(path):read("*l"):find("^function,"))
EOF
mkdir "$scratch/disk"
unshare -m bash -c 'mount -t tmpfs -o size=512k none "$1" || exit 77; luajit "$2" "$1/report" >&2 && ls -A "$1" && stat -c %a "$1/report"' \
  sh "$scratch/disk" "$scratch/dump.lua" >"$scratch/out" 2>"$scratch/err" ||
  fail "$(cat "$scratch/err")"
same "files and the mode" "$(xargs <"$scratch/out")" "report report.copy 640"
