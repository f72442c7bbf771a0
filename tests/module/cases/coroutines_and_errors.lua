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
