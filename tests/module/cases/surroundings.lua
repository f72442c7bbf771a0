-- SPDX-License-Identifier: MIT
-- A folder for temporary files that is missing, closed standard streams, a file that cannot be made again, a
-- small stack: what works, works, and what does not is said.
local trace, check = require "luatrace", require "check"
local function work() end
local folder = check.folder
local function path(name) return folder .. "/" .. name end

-- reset() ends a recording that cannot begin again, and says so.
check.output("mkdir " .. path("gone"))
assert(trace.start { file = path("gone/t.bin") })
work()
check.output("mv " .. path("gone") .. " " .. path("elsewhere"))
check.refuses("the recording has ended and does not begin again: ", trace.reset)
check.equal("running", trace.is_running(), false)
check.refuses("no recording is running", trace.stop)
assert(trace.start())
assert(trace.stop())

-- Programs of their own.
local function program(name, text)
  local file = assert(io.open(path(name), "w"))
  file:write("local trace, check = require 'luatrace', require 'check'\n", text)
  file:close()
  return "luajit " .. path(name)
end
local starts = program("start.lua", [[
  local ok, why = trace.start()
  print(ok, why)
  if ok then print(trace.report(), trace.stop()) end]])
for _, wrong in ipairs { path("none"), path("start.lua") } do
  local text = check.output("TMPDIR=" .. wrong .. " " .. starts)
  assert(text:find("nil\tno temporary file in " .. wrong .. " (TMPDIR): ", 1, true), text)
end

local file = path("out")
local records = program("closed.lua", ([[
  local function work() end
  assert(trace.start { file = %q })
  for _ = 1, 7 do work() end
  local calls = check.row(assert(trace.report()), "work").calls
  assert(trace.pause() and trace.resume())
  assert(trace.stop())
  assert(io.open(%q, "w")):write(calls)]]):format(path("closed.bin"), file))
for _, closed in ipairs { "<&-", ">&-", "2>&-", "<&- >&- 2>&-" } do
  os.remove(file)
  os.execute(records .. " " .. closed)
  check.equal("calls with " .. closed, assert(io.open(file)):read("*a"), "7")
end

-- 2,000 levels in 256 KB of stack.
local deep = program("deep.lua", [[
  local tree = {}
  for i = 1, 1000 do tree = { { name = "x", children = tree } } end
  local text = trace.to_json(tree)
  assert(select(2, text:gsub('"children":', "")) == 1000)
  check.throws("nested too deeply", function()
    for i = 1, 1000 do tree = { { tree } } end
    trace.to_json(tree)
  end)]])
check.output("ulimit -s 256; " .. deep)
check.equal("objects and arrays", trace.to_json { a = { 1, "x", true, {}, { b = {} } } }, '{"a":[1,"x",true,[],{"b":[]}]}')
