-- SPDX-License-Identifier: MIT
-- The callback's time is in no tree: neither in that of a call around it, nor as suspended time.
local ffi = require "ffi"
local trace, check = require "luatrace", require "check"
ffi.cdef [[
struct moment { long s, ns; };
int clock_gettime(int, struct moment *);
]]
local function now()
  local t = ffi.new("struct moment")
  ffi.C.clock_gettime(1, t) -- CLOCK_MONOTONIC, that of the trees
  return tonumber(t.s) * 1e6 + tonumber(t.ns) / 1e3
end
local function inner() return 1 end
local function outer() return (inner()) end
local function waits() inner() coroutine.yield() inner() end
local spent, trees, last = 0, {}, 0
local first = assert(trace.hook(inner, function()
  local from = now()
  check.spin(0.02)
  spent = spent + now() - from
end))
local second = assert(trace.hook(outer, function(tree) trees[#trees + 1] = tree end))
local third = assert(trace.hook(waits, function(tree) trees[#trees + 1] = tree end))
local from = now()
outer()
local took = now() - from
check.equal("trees", #trees, 1)
assert(spent >= 19000, spent)
assert(trees[1].call_full_duration <= took - spent + 1, trees[1].call_full_duration .. " of " .. took - spent)
check.equal("calls", trees[1].children[1].name .. trees[1].children[1].call_count, "inner1")

-- The second one runs while the coroutine of the call is suspended.
local co = coroutine.wrap(waits)
spent, from = 0, now()
co()
inner()
co()
took = now() - from
check.equal("trees", #trees, 2)
assert(trees[2].call_full_duration + trees[2].suspended_duration <= took - spent + 1)
assert(first() and second() and third())
