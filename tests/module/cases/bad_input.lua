-- SPDX-License-Identifier: MIT
-- What a program may do wrong with each function: a clear error, and what is running goes on.
local trace, check = require "luatrace", require "check"
local function work() end
assert(trace.start { file = check.folder .. "/t.bin" })

check.throws("string expected", trace.section_start)
check.throws("string expected", trace.section_start, {})
check.throws("string expected", trace.section_stop, nil)
check.throws("string expected", trace.sections, 1)
check.throws("bad argument #2", trace.section, "name")
check.throws("attempt to call", trace.section, "name", 5)
check.throws("string expected", trace.label, {}, "value")
check.throws("string expected", trace.label, "key", {})
check.throws("string expected", trace.unlabel)
check.throws("thread expected", trace.stack, "main")
check.throws("string expected", trace.dump_to, {})
check.throws("table expected", trace.to_json, 5)
check.throws("a key is no string", trace.to_json, { [true] = 1 })
check.throws("not a finite number", trace.to_json, { 0 / 0 })
check.throws("limit must be", trace.report, { limit = "many" })
check.throws("by must be a string", trace.report, { by = {} })
check.throws("format must be a string", trace.dump, { format = 1 })
check.throws("unknown option 'fromat'", trace.dump_to, check.folder .. "/x", { fromat = "csv" })
check.refuses("no such option", trace.report, { options = { "--nonsense" } })
check.refuses("label: needs the key", trace.report, { by = "label:" })
check.refuses("/t.bin/x: Not a directory", trace.dump_to, check.folder .. "/t.bin/x")
check.refuses(check.folder .. ": Is a directory", trace.dump_to, check.folder)
check.refuses("started already", trace.start { file = "other" } and trace.start or trace.start)
check.refuses("not paused", trace.resume)
assert(trace.pause())
check.refuses("paused already", trace.pause)
assert(trace.resume())

work()
check.equal("nothing was lost", check.row(trace.report(), "work").calls, 1)
check.equal("sections", check.row(trace.report(), "[section] name").calls, 2)
assert(trace.stop())
check.refuses("no recording has been started", trace.stop)
check.refuses("no recording has been started", trace.reset)
check.refuses("no recording has been started", trace.resume)

-- A table with a metatable that fails, and one that is its own hook's field.
check.throws("my index", trace.hook, setmetatable({}, { __index = function() error("my index") end }), "f", print)
check.throws("my index", trace.start, setmetatable({}, { __index = function() error("my index") end,
  __pairs = error, file = 1 }) and { file = setmetatable({}, {}) } and error or print)
