-- SPDX-License-Identifier: MIT
-- Labels: of a coroutine and of those that it creates, also from before the recording; requests by a
-- label; what is too much is refused, or said.
local trace, check = require "luatrace", require "check"

assert(trace.label("user", "alice"))
local creator = coroutine.wrap(function()
  trace.label("kind", "batch")
  local co = coroutine.create(function() check.spin(0.001) end)
  trace.label("kind", "later")  -- does not concern co
  coroutine.yield(co)
end)
local inherits = creator()
assert(trace.unlabel("user"))

local file = check.folder .. "/labels.bin"
assert(trace.start { file = file })
assert(coroutine.resume(inherits))
local function handle() check.spin(0.002) end
local function serve(id)
  trace.label("request", id)
  trace.label("route", id % 2 == 0 and "/even" or "/odd")
  coroutine.wrap(function() handle(); coroutine.yield() end)()
  handle()
end
for id = 1, 4 do serve(id) end
trace.unlabel("request")
handle()
local rows = trace.report { by = "request", options = { "--request-by", "label:request" } }
check.equal("requests", #rows, 4)
table.sort(rows, function(a, b) return a.id < b.id end)
for id, row in ipairs(rows) do
  check.equal("request", row.labels.request, tostring(id))
  check.equal("route", row.labels.route, id % 2 == 0 and "/even" or "/odd")
  check.equal("user", row.labels.user, nil)
  check.equal("coroutines", row.coroutines, 1)
  assert(row.running_ns >= 4000000, row.running_ns)
end
rows = trace.report { by = "request", options = { "--request-by", "label:kind" } }
check.equal("requests by the label of a creator", #rows, 1)
check.equal("kind", rows[1].labels.kind .. rows[1].labels.user, "batchalice")

-- Groups: a row for each, without the functions; a warning if there is none.
local warnings
rows, warnings = trace.report { by = "label:route" }
check.equal("warnings", warnings, nil)
check.equal("groups", #rows, 3)
assert(check.row(rows, "/even").calls > 0 and check.row(rows, "/odd").calls > 0)
rows, warnings = trace.report { by = "nonsense" }
check.equal("groups", #rows, 1)
assert(warnings:find("no file of the trace matches", 1, true), warnings)
assert(trace.stop())
local text = check.output("luatrace-analyze --dump " .. file)
assert(text:find('label %d+ "user" "alice"') and text:find('label %d+ "request" ""'), "events")

-- Limits.
check.throws("string, number or boolean expected", trace.label, "key")
check.throws("string expected", trace.label)
check.refuses("1 to 28 bytes", trace.label, "", "value")
check.refuses("1 to 28 bytes", trace.label, ("k"):rep(29), "value")
local _, why = trace.label("long", ("\195\164"):rep(40))
assert(why:find("cut to 70", 1, true), why)
trace.unlabel("long")
trace.unlabel("route")
coroutine.wrap(function()
  for i = 1, 8 do assert(trace.label("key" .. i, i)) end
  check.refuses("up to 8 labels", trace.label, "key9", true)
  assert(trace.label("key8", false))
  assert(trace.unlabel("key1"))
  assert(trace.label("key9", true))
end)()
assert(trace.unlabel("never set"))
