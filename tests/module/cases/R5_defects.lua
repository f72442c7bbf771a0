-- SPDX-License-Identifier: MIT
-- What was wrong in LuaProfiler: resume() paused, coroutines were not known, logs became huge.
local trace, check = require "luatrace", require "check"
local file = check.folder .. "/t.bin"
local function work() end
local function body()
  for _ = 1, 3 do
    work()
    coroutine.yield()
  end
end

assert(trace.start { file = file, compress = 1 })
assert(trace.pause())
work()
assert(trace.resume())
check.equal("it runs after resume", trace.is_running(), true)
local a, b = coroutine.wrap(body), coroutine.wrap(body)
for _ = 1, 3 do a() b() end
check.equal("calls after resume, in two coroutines", check.row(trace.report(), "work").calls, 6)
for _ = 1, 200000 do work() end
assert(trace.stop())
local stats = trace.stats()
assert(stats.events > 400000, "events are missing")
local bytes = assert(io.open(file)):seek("end")
assert(bytes < 4 * stats.events, ("%d bytes for %d events"):format(bytes, stats.events))

-- Or only what is slow, or up to a size.
assert(trace.start { file = file, only_slow = "slow=5ms" })
local function slow() check.output("sleep 0.01") end
for _ = 1, 100000 do work() end
slow()
assert(trace.stop())
check.equal("the slow call", check.row(trace.report(), "slow").calls, 1)
assert(assert(io.open(file)):seek("end") < 20000, "the log is large")
