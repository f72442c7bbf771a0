-- SPDX-License-Identifier: MIT
-- Named sections: time, CPU time, calls; unpaired use is an error that names the section; what a
-- section's function returns, throws or yields is not changed; sections are rows.
local trace, check = require "luatrace", require "check"
trace.section_start("a")
check.spin(0.05)
trace.section_stop("a")
local a = trace.sections("a")
assert(a.calls == 1 and a.time >= 0.04 and a.cpu >= 0.04 and a.cpu <= a.time + 0.02, a.time .. " " .. a.cpu)
check.throws("section 'a' has not been started", trace.section_stop, "a")
check.throws("section 'new' has not been started", trace.section_stop, "new")
check.throws("there is no section 'other'", trace.sections, "other")
trace.section_start("a")
check.throws("section 'a' has not been started in this coroutine",
  coroutine.wrap(function() trace.section_stop("a") end))
trace.section_stop("a")

assert(trace.start())
local function body(...) return coroutine.yield(...), nil, select("#", ...) end
local co = coroutine.wrap(function(...) return trace.section("b", body, ...) end)
check.equal("yielded", table.concat({ co(1, 2) }, " "), "1 2")
local results = { n = select("#", co(5)), co and 5 }
check.equal("number of results", results.n, 3)
local thrown = {}
local _, why = pcall(trace.section, "b", function() error(thrown) end)
check.equal("error", why, thrown)
check.equal("calls", trace.sections("b").calls, 2)
check.equal("row", check.row(trace.report(), "[section] b").calls, 2)
-- What is no function's, also across yields, is a row; each start is a call.
local function handler()
  trace.section_start("c")
  coroutine.yield()
  trace.section_start("c")
  trace.section_stop("c")
  trace.section_stop("c")
end
local handling = coroutine.wrap(handler)
handling()
check.spin(0.02)
handling()
local row = check.row(trace.report(), "[section] c")
check.equal("calls of c", row.calls, 2)
assert(row.suspended_ns >= 15000000 and row.inclusive_ns < row.wall_ns, row.suspended_ns)
assert(trace.dump { format = "folded" }:find("[section] c;coroutine.yield", 1, true) or
  trace.dump { format = "folded" }:find(";%[section%] c %d"), "the section has no place")
trace.section_start("open when the recording begins")
assert(trace.pause() and trace.resume())
check.equal("all sections", trace.sections().a.calls, 2)
assert(trace.stop())
trace.section_stop("open when the recording begins")

-- They are events, also of those that were open before.
local file = check.folder .. "/sections.bin"
trace.section_start("before")
assert(trace.start { file = file })
trace.section("during", function() end)
trace.section_stop("before")
assert(trace.stop())
local text = check.output("luatrace-analyze --dump " .. file)
for _, event in ipairs { 'open "before"', 'begin "during"', 'end "during"', 'end "before"' } do
  assert(text:find("section %d+ " .. event), event)
end

-- A stop that is refused leaves nothing behind.
check.throws("has not been started in this coroutine", trace.section_stop, "never")
check.throws("there is no section 'never'", trace.sections, "never")
