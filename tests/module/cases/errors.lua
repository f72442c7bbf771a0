-- SPDX-License-Identifier: MIT
-- Wrong types, names and states; a full disk; nothing is lost.
local trace, check = require "luatrace", require "check"
local function work() end
check.throws("start: unknown option 'foo'", trace.start, { foo = 1 })
check.throws("file must be a string, not a number", trace.start, { file = 1 })
check.throws("include must be an array of strings", trace.start, { include = { 1 } })
check.throws("table expected, got string", trace.start, "x")
check.throws("options have names, not a key that is a number", trace.start, { 1 })
check.throws("string expected, got no value", trace.dump_to)
check.refuses("ring_size: '5' is not a size", trace.start, { ring_size = 5 })
check.refuses("c_functions: invalid value 'some'", trace.start, { c_functions = "some" })
-- The recorder's own words, but not advice for its command.
local _, why = trace.start { flight = "64M", file = check.folder .. "/t.bin", slow = "x" }
assert(why:find("^slow: ") and not why:find("help", 1, true), why)
local text = assert(io.open(check.folder .. "/text", "w"))
text:write("not a trace")
text:close()
_, why = trace.start { file = check.folder .. "/text" }
assert(why:find("choose another name$"), why)
for _, options in ipairs { { file = "-" }, { file = "-", flight = "1M" } } do
  _, why = trace.start(options)
  assert(why:find("cannot do so into standard output (-): name a file", 1, true), why)
  assert(not why:find("--", 1, true) and not why:find("help", 1, true), why)
end
_, why = trace.start { file = check.folder .. "/%n.bin" }
assert(why:find("^%%n in the file's name") and why:find("needs flight"), why)
check.throws("start: file has a NUL byte", trace.start, { file = check.folder .. "/a\0b" })
check.throws("start: include has a NUL byte", trace.start, { include = { "a\0b" } })
check.throws("start: ring_size has a NUL byte", trace.start, { ring_size = "1M\0" })
local many = {}
for i = 1, 300 do many[i] = "app/" .. i end
check.throws("start: include: too many values", trace.start, { include = many })
check.refuses("/no/such/x.bin: cannot open", trace.start, { file = "/no/such/x.bin" })
check.refuses("the file's name is empty", trace.start, { file = "" })
check.equal("running", trace.is_running(), false)

os.execute("mkfifo " .. check.folder .. "/pipe")
for _, file in ipairs { "/dev/full", "/dev/null", check.folder .. "/pipe", check.folder } do
  check.refuses(file .. ": it is not a regular file", trace.start, { file = file })
end
check.refuses("no recording is running", trace.stop)

assert(trace.start { include = "*/nothing" })
work()
check.refuses("/dev/full: ", trace.dump_to, "/dev/full", { format = "json" })
assert(trace.stop())
check.no_row(trace.report(), "work")
check.throws("report: unknown option 'foo'", trace.report, { foo = 1 })
check.refuses("invalid regular expression", trace.report, { by = "thread,nothing(" })
check.refuses(": by label: needs the key", trace.report, { by = "label:" })
check.refuses(": format: invalid value 'html'", trace.dump, { format = "html" })
check.refuses(": format: invalid value 'html'", trace.dump_to, check.folder .. "/html", { format = "html" })
check.throws("format 'parquet' is several files", trace.dump, { format = "parquet" })
check.refuses("required", trace.report, { options = { "--fields" } })
check.equal("the name of a recording without a file", trace.dump { format = "speedscope" }:match('"name":"([^"]*)"'), "luatrace")

check.refuses("does not report calls of this function", trace.hook, pcall, work)
check.refuses("has no events with the c_functions in use", trace.hook, string.rep, work)
