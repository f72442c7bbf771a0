-- SPDX-License-Identifier: MIT
-- A flight recorder from inside: start{flight=, slow=, on_error=, only_slow=}, snapshot(path).
local trace, check = require "luatrace", require "check"
local function path(name) return check.folder .. "/" .. name end
local function json(name) return check.output("luatrace-analyze --strict --json " .. path(name)) end
local function calls(name, fn) return tonumber(json(name):match('"name": "' .. fn .. '"[^}]-"calls": (%d+)')) end
local function exists(name)
  local file = io.open(path(name))
  return file ~= nil and file:close()
end
local function until_exists(name)
  for _ = 1, 1000 do
    if exists(name) then return end
    check.output("sleep 0.02")
  end
  error(name .. " is not written")
end
local function work() end
local function handle(seconds) check.spin(seconds) end
local function fails() error("on purpose") end
local function later() end

check.refuses("no recording is running", trace.snapshot, path("s1"))
check.refuses("slow and on_error need flight", trace.start, { slow = "handle=1ms" })
check.refuses("'much' is neither a size", trace.start, { flight = "much" })
assert(trace.start())
check.refuses("no flight recorder", trace.snapshot, path("s1"))
assert(trace.stop())
assert(not exists("s1"))

-- What happened before the snapshot is in it, and nothing later.
assert(trace.start { flight = "1M" })
for _ = 1, 50 do work() end
assert(trace.snapshot(path("s1")))
later()
check.equal("calls before", calls("s1", "work"), 50)
check.equal("calls later", calls("s1", "later"), nil)
check.equal("reports", check.row(trace.report(), "later").calls, 1)
work()
assert(trace.snapshot(path("s1"))) -- a trace is replaced
check.equal("calls of the second", calls("s1", "work"), 51)

-- What cannot be written is refused, and costs nothing.
local other = assert(io.open(path("other"), "w"))
other:write("not a trace")
other:close()
check.output("mkfifo " .. path("fifo"))
check.throws("string expected", trace.snapshot, {})
check.refuses(path("other") .. ": it exists and is not a trace", trace.snapshot, path("other"))
check.refuses(path("none/x") .. ": No such file or directory", trace.snapshot, path("none/x"))
check.refuses(check.folder .. ": Is a directory", trace.snapshot, check.folder)
check.refuses(path("fifo") .. ": ", trace.snapshot, path("fifo")) -- without a reader
local reader = assert(io.open(path("fifo"), "r+"))
check.refuses("it is not a regular file", trace.snapshot, path("fifo"))
reader:close()
check.refuses("/dev/full: it is not a regular file", trace.snapshot, "/dev/full")
check.equal("the other file", io.open(path("other")):read("*a"), "not a trace")
assert(trace.snapshot(path("s2")))
assert(trace.stop())
check.equal("the report after the end", check.row(trace.report(), "work").calls, 51)

-- Automatic ones, and those that the recorder names.
assert(trace.start { file = path("t.%n.bin"), flight = "10s", slow = "handle=10ms", on_error = { "fails" } })
handle(0.001)
handle(0.03)
until_exists("t.1.bin")
assert(trace.snapshot())
check.equal("calls of handle", calls("t.2.bin", "handle"), 2)
check.output("sleep 1.1") -- automatic ones have a pause of a second
pcall(fails)
until_exists("t.3.bin")
assert(trace.stop())
check.equal("the last one, of the end", calls("t.4.bin", "fails"), 1)

-- No snapshot is overwritten: neither by reset() nor by another recording.
local numbered = { file = path("n.%n.bin"), flight = "1M" }
for _, first in ipairs { 1, 4 } do
  assert(trace.start(numbered))
  for _ = 1, first do work() end
  assert(trace.snapshot())
  assert(trace.reset()) -- the end of this recording has a snapshot, too
  assert(trace.stop())
  check.equal("calls of the first", calls("n." .. first .. ".bin", "work"), first)
end
check.equal("calls of the oldest", calls("n.1.bin", "work"), 1)
local kept = calls("n.3.bin", "work")
os.remove(path("n.2.bin"))
assert(trace.start(numbered))
for _ = 1, 2 do
  for _ = 1, 77 do work() end
  assert(trace.snapshot())
end
assert(trace.stop())
check.equal("calls in the gap", calls("n.2.bin", "work"), 77)
check.equal("calls after the gap", calls("n.3.bin", "work"), kept)

-- Without a file only that of the end, and those with a path.
assert(trace.start { flight = "64M", slow = "handle=10ms" }) -- handle has up to 1 MB of events
handle(0.03)
check.refuses("has no file", trace.snapshot)
assert(trace.snapshot(path("named.bin")))
check.equal("calls of handle", calls("named.bin", "handle"), 1)
assert(trace.stop())

assert(trace.start { file = path("slow.bin"), only_slow = "handle=20ms" })
handle(0.001)
work()
handle(0.03)
assert(trace.stop())
check.equal("slow calls", calls("slow.bin", "handle"), 1)
check.equal("others", calls("slow.bin", "work"), nil)
-- The thread is the one that ran it.
local function thread(number)
  return check.output("luatrace-analyze --slow handle --json " .. path("slow.bin")):find('"thread": ' .. number .. "[,}]")
end
assert(thread(io.open("/proc/self/stat"):read("*n")) and not thread(0), "no thread")

-- What the program said before the window, or before the slow call, is known there.
local function labeled(by, options)
  local rows = {}
  for _, row in ipairs(trace.report { by = by, options = options }) do rows[row.name] = row.calls end
  return rows
end
local worker = coroutine.wrap(function()
  trace.label("user", "alice")
  trace.section_start("life")
  while true do
    coroutine.yield()
    for _ = 1, 100 do work() end
  end
end)
assert(trace.start { flight = "256K", ring_size = "16M" })
worker()
for _ = 1, 60000 do work() end
worker()
check.equal("calls of alice", (labeled("label:user").alice or 0) >= 100, true)
check.equal("section", labeled("function")["[section] life"] ~= nil, true)
assert(trace.stop())
assert(trace.start { file = path("said.bin"), only_slow = "handle=20ms" })
trace.label("user", "bob")
handle(0.03)
assert(trace.stop())
check.equal("calls of bob", labeled("label:user").bob ~= nil, true)
check.equal("calls of nobody", labeled("label:user")["[no label]"], nil)
