-- SPDX-License-Identifier: MIT
-- Over pauses a Lua VM is one, and so are its coroutines and requests; a pause is no suspended time.
local trace, check = require "luatrace", require "check"
local function work() return 1 end
local file = check.folder .. "/t.bin"
local function body()
  trace.label("request", "one")
  for i = 1, 10 do work() coroutine.yield(i) end
end
local function count(rows)
  local vms = {}
  for _, row in ipairs(rows) do vms[row.vm] = true end
  local n = 0
  for _ in pairs(vms) do n = n + 1 end
  return n
end

assert(trace.start { file = file, compress = 3 })
local co = coroutine.wrap(body)
co()
for _ = 1, 3 do
  assert(trace.pause())
  co() -- not recorded
  check.output("sleep 0.1")
  assert(trace.resume())
  work()
  co()
end
local rows, text = assert(trace.report { by = "coroutine" })
check.equal("coroutines", #rows, 2)
check.equal("Lua VMs", count(rows), 1)
check.equal("warnings", text, nil)
for _, row in ipairs(rows) do
  assert(row.suspended_ns < 100000000, row.suspended_ns)
  if row.resumes > 0 then check.equal("resumes", row.resumes, 4) end
end
check.equal("calls", check.row(trace.report(), "work").calls, 7)
check.equal("requests", #assert(trace.report { by = "request", options = { "--request-by", "label:request" } }), 1)
assert(trace.pause())
check.equal("coroutines while paused", #trace.report { by = "coroutine" }, 2)
assert(trace.stop())
-- The same with one thread, and from the file.
for _, jobs in ipairs { 1, 4 } do
  local json = check.output(("luatrace-analyze --json --coroutines --jobs %d %s"):format(jobs, file))
  local streams = select(2, json:match('"streams": %[(.-)%]'):gsub('"recording"', ""))
  check.equal("streams", streams, 1)
end
