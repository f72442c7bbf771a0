-- SPDX-License-Identifier: MIT
-- The module's own calls are in no traceback: neither at watched places nor in the stacks of a process.
local trace, check = require "luatrace", require "check"
local file = check.folder .. "/sections.lua"
local out = assert(io.open(file, "w"))
out:write([[
local trace = require "luatrace"
local function inner(x) return x end
local function outer() return (trace.section("s", inner, 1)) end
outer()
]])
out:close()
local text = check.output("luatrace-record -q --watch inner --print traceback -- luajit " .. file)
local calls = {}
for call in text:gmatch("\n    ([^\n]*)") do calls[#calls + 1] = call:gsub("^.-sections.lua", "sections.lua") end
check.equal("calls", #calls, 4)
for i, part in ipairs { "sections.lua:2  ", "sections.lua:3  outer", "sections.lua:4  main chunk", "[C]  ?" } do
  assert(calls[i]:find(part, 1, true), text)
end
assert(not text:find("luatrace]", 1, true) and not text:find("pcall", 1, true), text)
