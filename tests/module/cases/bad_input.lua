-- SPDX-License-Identifier: MIT
-- What a program may do wrong with each function: a clear error, and what is running goes on.
local trace, check = require "luatrace", require "check"
local function work() end
assert(trace.start { file = check.folder .. "/t.bin" })

check.throws("string expected", trace.section_start)
check.throws("string expected", trace.section_start, {})
check.throws("string expected", trace.section_stop, nil)
check.throws("string expected", trace.sections, 1)
check.throws("section: what it runs: function expected, got nil", trace.section, "name")
check.throws("section: what it runs: function expected, got number", trace.section, "name", 5)
check.throws("section: the name: string expected, got number", trace.section, 1, work)
local _, why = pcall(function() trace.section("name", nil) end)
assert(why:find("bad_input.lua:%d+: section: what it runs"), why)
for _, own in ipairs { trace.report, trace.section } do
  check.refuses("luatrace's own functions have no events", trace.hook, own, work)
end
trace.section("name", setmetatable({}, { __call = work }))
check.throws("string expected", trace.label, {}, "value")
check.throws("string, number or boolean expected", trace.label, "key", {})
check.throws("string expected", trace.unlabel)
check.throws("thread expected", trace.stack, "main")
check.throws("string expected", trace.dump_to, {})
check.throws("table expected", trace.to_json, 5)
check.throws("a key is no string", trace.to_json, { [true] = 1 })
check.throws("not a finite number", trace.to_json, { 0 / 0 })
check.throws("fields beside its array", trace.to_json, { 1, 2, name = "lost" })
check.throws("limit must be", trace.report, { limit = "many" })
for _, limit in ipairs { -1, 1.5, 1e300, 0 / 0 } do
  check.throws("report: limit must be a whole number from 0 on", trace.report, { limit = limit })
end
check.throws("report: by has a NUL byte", trace.report, { by = "function\0" })
check.throws("section_start: the name has a NUL byte", trace.section_start, "a\0b")
check.throws("section_start: the name is empty", trace.section_start, "")
check.throws("section_stop: the name: string expected, got no value", trace.section_stop)
check.throws("label: the key has a NUL byte", trace.label, "a\0b", "value")
check.throws("label: the value has a NUL byte", trace.label, "key", "a\0b")
check.throws("dump_to: the path has a NUL byte", trace.dump_to, "a\0b")
check.throws("snapshot: the path has a NUL byte", trace.snapshot, "a\0b")
check.throws("hook: the callback: function expected, got no value", trace.hook, print)
check.throws("hook: the function: function expected, got no value", trace.hook)
check.throws("hook: the function: function expected, got nil", trace.hook, {}, "field", print)
check.throws("hook: the field: value expected, got no value", trace.hook, {})
check.throws("by must be a string", trace.report, { by = {} })
for _, list in ipairs { { pattern = "x" }, { "a", nil, "c" }, { "a", [3] = "b" } } do
  check.throws("options must be an array of strings, without gaps", trace.report, { options = list })
end
check.throws("options must be an array of strings, not a number", trace.report, { options = { 5 } })
check.throws("report: options have names, not a key that is a number", trace.report, { "function" })
check.throws("format must be a string", trace.dump, { format = 1 })
check.throws("unknown option 'fromat'", trace.dump_to, check.folder .. "/x", { fromat = "csv" })
check.refuses("unrecognised option '--nonsense'", trace.report, { options = { "--nonsense" } })
-- Only what shapes the report; and nothing is written.
for option, why in pairs {
  ["--help"] = "--help (-h): only options that shape the report", ["--version"] = "--version: only",
  ["-o" .. check.folder .. "/other"] = "--output (-o): only",
  ["--flame=" .. check.folder .. "/other"] = "--flame: only", ["--force"] = "--force: only",
  ["--folded"] = "--folded: only", ["--jit"] = "--jit: only", ["--dump"] = "--dump: only", ["other.bin"] = "'other.bin' is a file: only"
} do
  check.refuses(why, trace.report, { options = { option } })
  check.refuses(why, trace.dump, { options = { option } })
  check.refuses(why, trace.dump_to, check.folder .. "/other", { options = { option } })
end
for _, call in ipairs { { trace.report, "--format=csv" }, { trace.dump, "--json" } } do
  check.refuses("the form is given by the function called", call[1], { options = { call[2] } })
end
check.refuses("--json: only", trace.dump, { options = { "--json=" .. check.folder .. "/other" } })
check.equal("files", io.open(check.folder .. "/other"), nil)
local _, reason = trace.report { options = { "--nonsense" } }
assert(not reason:find("--help", 1, true), reason)
check.refuses("label: needs the key", trace.report, { by = "label:" })
check.refuses("/t.bin/x: Not a directory", trace.dump_to, check.folder .. "/t.bin/x")
check.refuses("the file's name is empty", trace.dump_to, "")
check.refuses(check.folder .. ": Is a directory", trace.dump_to, check.folder)
check.refuses("started already", trace.start)
check.refuses("started already", trace.start, { file = "other" })
check.refuses("not paused", trace.resume)
assert(trace.pause())
check.refuses("paused already", trace.pause)
assert(trace.resume())

work()
check.equal("nothing was lost", check.row(trace.report(), "work").calls, 2)
check.equal("sections", check.row(trace.report(), "[section] name").calls, 1)
assert(trace.stop())
check.refuses("no recording is running", trace.stop)
check.refuses("no recording is running", trace.reset)
check.refuses("no recording is running", trace.resume)

-- A metatable that fails: its error is the program's.
local fails = setmetatable({}, { __index = function() error("my index") end })
check.throws("my index", trace.hook, fails, "f", print)
