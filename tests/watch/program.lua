-- SPDX-License-Identifier: MIT
-- The program's own hooks, and what it does to the compiler, are not disturbed by a watched line.
local function step(n)
  local x = n
  for _ = 1, 20 do
    x = x + 1
  end
  return x
end
local function sum(f, n)
  local s = 0
  for i = 1, n do s = s + f(i) end
  return s
end
local function report(name, ...) print(name, ...) end

-- A count hook, a line hook, both, and none.
for _, mask in ipairs { "c", "l", "lc", "r", "" } do
  local counts, lines, returns = 0, {}, 0
  local function hook(event, line)
    if event == "count" then counts = counts + 1 end
    if event == "line" then lines[line] = (lines[line] or 0) + 1 end
    if event == "return" then returns = returns + 1 end
  end
  jit.off()
  if mask == "" then debug.sethook() elseif mask == "c" or mask == "lc" then
    debug.sethook(hook, mask == "lc" and "l" or "", 100)
  else
    debug.sethook(hook, mask)
  end
  local s = sum(step, 30)
  debug.sethook()
  jit.on()
  report("hook " .. mask, s, counts, lines[6] or 0, lines[4] or 0)
end

-- Compiled code, functions that are loaded again, jit.off.
report("compiled", sum(step, 500))
for i = 1, 300 do
  local f = assert(loadstring("local a = ...\nlocal b = a\nreturn b + 1", "@again.lua"))
  assert(f(i) == i + 1)
  if i % 50 == 0 then collectgarbage() end
end
local off = assert(loadstring("local a = ...\nfor i = 1, 100 do\n a = a + i\nend\nreturn a", "@off.lua"))
jit.off(off)
report("off", sum(off, 50))
-- LuaJIT's profiler goes on while every instruction is looked at.
local samples = 0
local function turn() for _ = 1, 10000 do samples = samples + 0 end end
jit.off(turn)
require("jit.profile").start("i1", function(_, n) samples = samples + n end)
local begun = os.clock()
repeat turn() until samples > 2 or os.clock() - begun > 20
require("jit.profile").stop()
report("profiler", samples > 2)
report("errors", pcall(sum, function(i) if i > 9 then error("end", 0) end return step(i) end, 20))
collectgarbage()
