-- SPDX-License-Identifier: MIT
-- Hooks of functions that end in other ways than by a return: never, by tail calls, by an error in
-- another coroutine; and hooks set, used and ended where it is inconvenient.
local trace, check = require "luatrace", require "check"
local trees
local function keep(tree) trees[#trees + 1] = tree end
local function hook(...)
  trees = {}
  return assert(trace.hook(...))
end

-- It does not return while it is hooked: the hook is ended from inside, or its coroutine is dropped.
local unhook
local function ends_hook() assert(unhook()) return "goes on" end
unhook = hook(ends_hook, keep)
check.equal("result", ends_hook(), "goes on")
check.equal("trees", #trees, 0)
local function forever() while true do coroutine.yield() end end
unhook = hook(forever, keep)
collectgarbage("stop")
for _ = 1, 200 do coroutine.wrap(forever)() end -- more than can be open at a time
collectgarbage("restart")
collectgarbage()
collectgarbage()
local function ends() end
local other = hook(ends, keep)
ends()
check.equal("a call after those that were collected", #trees, 1)
check.equal("none was left out", trees[1].skipped, 136)
assert(unhook() and other())

-- Each tail call ends a call; the caller's is no recursion.
local function loop(n) if n > 0 then return loop(n - 1) end return "end" end
unhook = hook(loop, keep)
check.equal("result", loop(100), "end")
check.equal("calls", #trees, 101)
for _, tree in ipairs(trees) do check.equal("children", #tree.children, 0) end
assert(unhook())

-- An error in a coroutine that the call has resumed: it goes through wrap(), and ends at resume().
local function fails() error("why", 0) end
local function through() coroutine.wrap(fails)() end
local function around() return select(2, coroutine.resume(coroutine.create(fails))) end
unhook = hook(through, keep)
local second = assert(trace.hook(around, keep))
check.throws("why", through)
check.equal("through", #trees .. tostring(trees[1].error), "1true")
check.equal("around", around(), "why")
check.equal("around", #trees .. tostring(trees[2].error), "2nil")
check.throws("why", through)
check.equal("not left open", #trees, 3)
assert(unhook() and second())

-- Its coroutine dies of an error of another function.
local function waits() coroutine.yield() end
local function body() waits() error("later") end
unhook = hook(body, keep)
local co = coroutine.create(body)
coroutine.resume(co)
assert(not coroutine.resume(co))
check.equal("died", #trees .. tostring(trees[1].error), "1true")
assert(unhook())

-- Code that is compiled before the hook, and a program that turns the compiler on meanwhile.
local count = 0
local function hot() count = count + 1 end
for _ = 1, 10000 do hot() end
local was = jit.status()
unhook = hook(hot, function() trees[#trees + 1] = 1 end)
for _ = 1, 500 do hot() end
check.equal("of compiled code", #trees, 500)
jit.on()
for _ = 1, 500 do hot() end
check.equal("with the compiler on", #trees, 1000)
assert(unhook())
for _ = 1, 500 do hot() end
check.equal("without the hook", #trees, 1000)
check.equal("compiler", jit.status(), was)

-- The callback ends its own hook, once; begins, looks at and ends a recording.
unhook = hook(hot, function(tree) keep(tree) assert(unhook()) check.refuses("has been removed", unhook) end)
hot()
hot()
check.equal("calls of a callback that ends its hook", #trees, 1)
local calls
unhook = hook(hot, function()
  assert(trace.start())
  hot()
  calls = check.row(trace.report(), "hot").calls
  check.refuses("started already", trace.start)
  assert(trace.stop())
end)
hot()
assert(unhook()) -- its message, if the callback has failed
check.equal("calls", calls, 1)

-- A callback that throws something else; one that is no more after too many.
unhook = hook(hot, function() error({}) end)
hot()
check.refuses("the callback has thrown an error", unhook)
local hooks = {}
for i = 1, 64 do hooks[i] = hook(hot, keep) end
check.refuses("too many hooks", trace.hook, hot, keep)
hot()
check.equal("each hook of a function has its tree", #trees, 64)
for i = 1, 64 do assert(hooks[i]()) end

-- A callback that ends the process: with its status, and a complete file.
local file = check.folder .. "/t.bin"
local status = check.run(([[
local function work() end
assert(trace.start { file = %q })
assert(trace.hook(work, function() os.exit(7) end))
for _ = 1, 9 do work() end]]):format(file))
check.equal("status", status, 7 * 256)
local text
for _ = 1, 500 do -- the recorder ends after the program
  text = check.output("luatrace-analyze --json " .. file)
  if text:find('"ended": true') then break end
  os.execute("sleep 0.02")
end
check.equal("calls", text:match('"name": "work"[^}]*"calls": (%d+)'), "1")
