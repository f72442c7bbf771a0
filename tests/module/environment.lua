-- SPDX-License-Identifier: MIT
-- For environment.sh: calls with arguments, sections, and `hang`, which never ends.
local function add(a, b) return a + b end
local object = {}
function object:method(text)
  local sum = add(#text, 2, text, { 1 }, nil, true)
  return sum
end
if arg[1] == "calls" then
  for _ = 1, 100 do object:method("a\n\1") end
  coroutine.wrap(function(x) coroutine.yield(add(x, 1)) end)(5)
elseif arg[1] == "sections" then
  local luatrace = require "luatrace"
  luatrace.section_start("outer", 1, "x\n")
  luatrace.section("inner", add, 1, 2)
  luatrace.section_stop("outer")
elseif arg[1] == "own" then
  local file = io.open(arg[2], "w")
  add(1, 2)
  file:write("only this")
  file:close()
elseif arg[1] == "hang" then
  if arg[2] == "interpreter" then jit.off() end
  all = { coroutine.create(function(x) coroutine.yield(x) end), coroutine.create(add) }
  coroutine.resume(all[1], 1)
  local function hang()
    io.open(arg[3], "w"):close()
    local x = 0 while true do x = x + 1 end
  end
  coroutine.wrap(hang)()
elseif arg[1] == "exits" then
  print "end"
  object:method("x")
  os.exit(0)
end
print "end"
