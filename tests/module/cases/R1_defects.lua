-- SPDX-License-Identifier: MIT
-- What was wrong in LuaProfile: stop() did nothing, calls were counted twice, C functions fire no return
-- hook and some returns of Lua functions are not seen, all coroutines had one call stack, an error
-- through a hooked function left it open for ever, the program's hook was replaced, it was very slow.
local trace, check = require "luatrace", require "check"
local sort, gsub = table.sort, string.gsub

local function leaf() end
local function by_tail() return leaf() end
local function compare(a, b) return a < b end
local function calls_c(list) sort(list, compare) end
local function body(n)
  for _ = 1, n do
    leaf()
    coroutine.yield()
  end
end
local function throws(depth)
  if depth == 0 then error("on purpose") end
  throws(depth - 1)
end
local function catches() return pcall(throws, 5) end
local function after() leaf() end
local function hooked() end

local lines = 0
local function hook() lines = lines + 1 end
debug.sethook(hook, "", 1)
assert(trace.start { c_functions = "all" })
assert(select(1, debug.gethook()) == hook, "the program's hook is another one")
for _ = 1, 100 do by_tail() end
calls_c { 3, 1, 2 }
assert(lines > 100, "the program's hook does not run")
debug.sethook()
local a, b = coroutine.wrap(body), coroutine.wrap(body)
for _ = 1, 10 do a(20) b(20) end
for _ = 1, 50 do catches() end
after()
assert(trace.stop())
for _ = 1, 7 do leaf() end

local rows = trace.report()
local function row(name) return check.row(rows, name) end
check.equal("calls by tail calls, and of two coroutines", row("leaf").calls, 100 + 2 * 10 + 1)
check.equal("tail calls", row("by_tail").calls, 100)
check.equal("calls that an error left", row("throws").calls, 50 * 6)
check.equal("all of them have ended", row("throws").complete, 50 * 6)
check.equal("C functions", row("table.sort").calls, 1)
check.equal("what C functions call", row("compare").calls > 0, true)
check.equal("bodies of coroutines", row("body").calls, 2)
assert(row("table.sort").inclusive_ns >= row("compare").inclusive_ns, "the caller of compare is another one")
-- Callers: each of the two is where it was called.
local tree = trace.dump { format = "folded" }
assert(tree:find("calls_c[^;]*;table.sort[^;]*;compare"), tree)
assert(tree:find("body[^;]*;leaf"), tree)
assert(not tree:find("throws[^\n]*after"), "an error has left calls open")

-- A hooked function that an error leaves is complete, and counts once.
local trees = {}
local ends = trace.hook(throws, function(t) trees[#trees + 1] = t end)
catches()
for _ = 1, 3 do hooked() end
check.equal("trees", #trees, 1)
check.equal("an error", trees[1].error, true)
ends()

-- A stack overflow ends the calls that it leaves: those of the hooked function, and those around it.
local function overflow(deep)
  if deep then return 1 + overflow(deep) end
  return 2
end
local function around() return pcall(overflow, true) end
for _, hooked in ipairs { overflow, around } do
  local trees = 0
  local unhook = trace.hook(hooked, function() trees = trees + 1 end)
  overflow() around()
  for _ = 1, 10 do overflow() around() end
  unhook()
  check.equal("trees", trees, hooked == overflow and 22 or 11)
end
