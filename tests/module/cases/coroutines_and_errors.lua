-- SPDX-License-Identifier: MIT
-- The functions themselves in a coroutine, inside pcall, in a finalizer; what the program returns does
-- not change; compiled code is recorded.
local trace, check = require "luatrace", require "check"
local function work(i) return i * 2 end
local function sum() local s = 0 for i = 1, 10000 do s = s + work(i) end return s end
local plain = sum()
local co = coroutine.create(function()
  assert(pcall(function() assert(trace.start()) end))
  coroutine.yield(sum())
  error("thrown")
end)
check.equal("result", select(2, coroutine.resume(co)), plain)
check.equal("error", select(2, coroutine.resume(co)):match("thrown"), "thrown")
check.equal("calls", check.row(trace.report(), "work").calls, 10000)
local proxy = newproxy(true)
local finalized
getmetatable(proxy).__gc = function() finalized = { trace.pause() } end
proxy = nil
collectgarbage()
collectgarbage()
check.equal("paused by a finalizer", finalized[1], true)
sum()
assert(trace.resume())
check.equal("stack", trace.stack()[1].what, "main")
local suspended = coroutine.create(function() coroutine.yield() end)
coroutine.resume(suspended)
check.equal("stack of a coroutine", trace.stack(suspended)[2].line_defined, 26)
assert(trace.stop())

-- The module's own calls are not the program's.
local function lines(calls)
  local text = ""
  for _, call in ipairs(calls) do text = text .. (call.line > 0 and call.line or call.name or "C") .. " " end
  return text
end
local function inside() return lines(trace.stack()) end
local around = lines(trace.stack())
local line = debug.getinfo(1, "l").currentline
check.equal("a section", trace.section("s", function() return trace.section("t", inside) .. "" end),
  (line - 2) .. " " .. (line + 1) .. " " .. (line + 1) .. " " .. around:match(" (.*)"))
-- Nor are they in what luatrace-record --stack prints, which needs the right to look at its parent.
if check.output("id -u") == "0\n" then
  local pid = io.open("/proc/self/stat"):read("*n")
  local text = trace.section("s", function() return check.output("luatrace-record --stack -p " .. pid) .. "" end)
  assert(text:find("check.lua") and not text:find("pcall") and not text:find("[luatrace]", 1, true), text)
end
