#!/bin/bash
# SPDX-License-Identifier: MIT
#
# dump_to on a full disk leaves an older report as it is, and no other file.
# A full disk is no reason to show less than there was without a word.
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

# A flight recorder whose last window cannot be kept: stop() says so, and that reports show an older one.
cat >"$scratch/flight.lua" <<'EOF'
local trace = require "luatrace"
local folder, other = ...
local function early() end
local function late() end
local function calls(name)
  for _, row in ipairs(trace.report()) do
    if row.name == name then return row.calls end
  end
end
local function fill() os.execute("dd if=/dev/zero of=" .. folder .. "/fill bs=4k 2>/dev/null") end
local function refused(part)
  local ok, why = trace.stop()
  assert(ok == nil and why:find(part, 1, true) and why:find("No space left on device", 1, true), why)
  assert(not trace.is_running())
end

assert(trace.start { flight = "1M" })
early()
assert(calls("early") == 1)
late()
fill()
refused("reports show an earlier moment")
assert(calls("early") == 1 and calls("late") == nil)
os.remove(folder .. "/fill")

-- reset() needs nothing of what it throws away.
assert(trace.start { flight = "1M", file = other .. "/%s.bin" })
fill()
assert(trace.reset())
refused("the recording has ended, but")
EOF
mkdir "$scratch/temporary"
TMPDIR=$scratch/temporary unshare -m bash -c 'mount -t tmpfs -o size=2m none "$1" || exit 77; exec luajit "$2" "$1" "$3"' \
  sh "$scratch/temporary" "$scratch/flight.lua" "$scratch" >"$scratch/out" 2>&1 || fail "$(cat "$scratch/out")"

# A recording without a file whose temporary one does not fit: what is full is named.
cat >"$scratch/full.lua" <<'EOF'
local trace = require "luatrace"
local folder = ...
assert(trace.start())
os.execute("dd if=/dev/zero of=" .. folder .. "/fill bs=4k 2>/dev/null")
for i = 1, 20000 do loadstring("return " .. i, "=chunk" .. i)() end
local ok, why = trace.stop()
assert(ok == nil and why:find("the temporary file in " .. folder .. " (TMPDIR): ", 1, true) and
  why:find("No space left on device", 1, true), why)
EOF
TMPDIR=$scratch/temporary unshare -m bash -c 'mount -t tmpfs -o size=512k none "$1" || exit 77; exec luajit "$2" "$1"' \
  sh "$scratch/temporary" "$scratch/full.lua" >"$scratch/out" 2>&1 || fail "$(cat "$scratch/out")"
