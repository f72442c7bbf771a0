-- SPDX-License-Identifier: MIT
-- hook(): the tree of each call of one function, however the call ends; what the program does itself
-- goes on; and the defects of hooks on lua_sethook: calls counted twice, one stack for all
-- coroutines, an error that leaves a function open for ever, C functions that never return.
local trace, check = require "luatrace", require "check"

-- Calls are counted once, each call has its tree, and the tree is there when the call has ended.
local function inner(n) local s = 0 for i = 1, n do s = s + i end return s end
local function work(n) inner(n); inner(n) return "result", nil, n end
local trees = {}
local unhook = assert(trace.hook(work, function(tree) trees[#trees + 1] = tree end))
local results = { n = select("#", work(1000)), work(1000) }
check.equal("results", results.n .. results[1] .. results[3], "3result1000")
check.equal("trees", #trees, 2)
for i = 1, 300 do
  work(i)
  check.equal("trees", #trees, i + 2)
end
local tree = trees[1]
check.equal("name", tree.name, "work")
assert(tree.source:find("R1.4_hook.lua", 1, true) and tree.line_number == 9, tree.line_number)
check.equal("calls", tree.call_count, 1)
check.equal("children", #tree.children, 1)
check.equal("inner", tree.children[1].name .. tree.children[1].call_count, "inner2")
local sum = tree.call_inner_duration + tree.children[1].call_full_duration
assert(math.abs(tree.call_full_duration - sum) < 0.01 and tree.call_full_duration > 0, sum)
assert(unhook())
work(1)
check.equal("after the hook", #trees, 302)
check.refuses("has been removed", unhook)

-- A field's function; the table stays as it is. C functions return.
local object = { method = function(_, list) table.concat(list) end }
local method, calls = object.method, {}
unhook = assert(trace.hook(object, "method", function(t) calls[#calls + 1] = t end))
check.equal("the field", object.method, method)
for _ = 1, 3 do object:method({ "a", "b" }) end
check.equal("calls", #calls, 3)
assert(unhook())

-- Left by an error, also one that ends a coroutine, and by a tail call.
local function fails(how) if how then error("why") end return inner(2) end
calls = {}
unhook = assert(trace.hook(fails, function(t) calls[#calls + 1] = t end))
check.throws("why", fails, true)
check.equal("left by an error", #calls .. tostring(calls[1].error), "1true")
assert(not coroutine.resume(coroutine.create(fails), true))
check.equal("died", #calls .. tostring(calls[2].error), "2true")
check.equal("tail call", fails(), 3)
check.equal("no error", #calls .. tostring(calls[3].error), "3nil")
assert(unhook())

-- Spread over resumes: suspended time counts for nobody; two coroutines do not disturb each other.
local function waits(n) inner(n); coroutine.yield(); inner(n) end
calls = {}
unhook = assert(trace.hook(waits, function(t) calls[#calls + 1] = t end))
local a, b = coroutine.create(waits), coroutine.create(waits)
assert(coroutine.resume(a, 10) and coroutine.resume(b, 10))
check.spin(0.05)
assert(coroutine.resume(a))
check.equal("calls", #calls, 1)
assert(calls[1].suspended_duration > 40000 and calls[1].call_full_duration < 40000)
assert(coroutine.resume(b))
check.equal("calls", #calls, 2)
for _, t in ipairs(calls) do check.equal("inner", t.children[1].call_count, 2) end
assert(unhook())

-- A coroutine that the function resumes is below it; a recursion is one call.
local function generator() for _ = 1, 3 do inner(1); coroutine.yield() end end
local function outer(n)
  if n > 0 then return (outer(n - 1)) end
  local co = coroutine.wrap(generator)
  co(); co()
end
calls = {}
unhook = assert(trace.hook(outer, function(t) calls[#calls + 1] = t end))
outer(2)
check.equal("outermost calls", #calls, 1)
local node = calls[1]
for _ = 1, 2 do node = node.children[1] check.equal("recursion", node.name, "outer") end
local found
for _, child in ipairs(node.children) do if child.name == "generator" then found = child end end
check.equal("in the coroutine", found.children[1].name .. found.children[1].call_count, "inner2")
assert(unhook())

-- Too much for a tree is cut, and the tree says so.
local function deep(n) if n > 0 then return 1 + deep(n - 1) end return 0 end
calls = {}
unhook = assert(trace.hook(deep, function(t) calls[#calls + 1] = t end))
check.equal("result", deep(3000), 3000)
check.equal("cut", tostring(calls[1].cut), "true")
assert(#trace.to_json(calls[1]) > 1000)
assert(unhook())

-- A hook of the program's own keeps working.
local events = 0
debug.sethook(function() events = events + 1 end, "c")
calls = {}
unhook = assert(trace.hook(work, function() calls[#calls + 1] = 1 end))
for _ = 1, 10 do work(1) end
assert(unhook())
local hook, mask = debug.gethook()
debug.sethook()
assert(type(hook) == "function" and mask == "c" and events >= 30, events)
check.equal("calls", #calls, 10)

-- jit.on() and jit.off() are the program's: nothing is compiled meanwhile, and their last setting stays.
local compiled = 0
local function on_trace() compiled = compiled + 1 end
for _, last in ipairs { "off", "on" } do
  unhook = assert(trace.hook(work, function() calls[#calls + 1] = 1 end))
  check.equal("the setting before", (jit.status()), true)
  jit.off()
  jit.on()
  jit.attach(on_trace, "trace")
  compiled, calls = 0, {}
  for i = 1, 200 do work(i) end
  check.equal("traces beside a hook", compiled, 0)
  check.equal("calls beside it", #calls, 200)
  jit.attach(on_trace)
  jit[last]()
  assert(unhook())
  check.equal("the setting after", (jit.status()), last == "on")
  jit.on()
end

-- Callbacks that throw, yield or hook again.
unhook = assert(trace.hook(work, function() error("my error") end))
work(1)
work(1)
check.refuses("my error", unhook)
unhook = assert(trace.hook(work, function() coroutine.yield() end))
check.equal("result", coroutine.wrap(function() return work(1) end)(), "result")
check.refuses("yield", unhook)
local second = 0
unhook = assert(trace.hook(work, function()
  work(1)  -- has no tree
  if second == 0 then
    second = assert(trace.hook(inner, function(t) calls[#calls + 1] = t end))
  end
end))
calls = {}
work(1)
work(1)
check.equal("hooked by the callback", #calls, 2)
assert(unhook() and second())

-- While a recording runs: both have everything.
assert(trace.start())
calls = {}
unhook = assert(trace.hook(work, function(t) calls[#calls + 1] = t end))
for _ = 1, 20 do work(3) end
assert(unhook())
work(3)
check.equal("trees", #calls, 20)
local row = check.row(trace.report(), "work")
check.equal("calls in the recording", row.calls, 21)
assert(trace.stop())

-- Wrong use.
check.throws("function expected", trace.hook, 1, print)
check.throws("function expected", trace.hook, work, 1)
check.throws("function expected", trace.hook, {}, "none", print)
check.refuses("does not report calls", trace.hook, math.floor, print)
check.refuses("no events", trace.hook, trace.stop, print)

-- JSON.
check.equal("JSON", trace.to_json({ 1, "a\"\\\1\255\195\164", true, {} }),
  '[1,"a\\"\\\\\\u0001\\ufffd\195\164",true,[]]')
check.equal("JSON", trace.to_json({ key = 1.5 }), '{"key":1.5}')
local cycle = {}
cycle[1] = cycle
check.throws("nested too deeply", trace.to_json, cycle)
check.throws("has no form in JSON", trace.to_json, { print })
