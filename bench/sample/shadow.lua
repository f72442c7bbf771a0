-- SPDX-License-Identifier: MIT
-- Keeps the stack of its own functions in the word that OpenResty's LuaJIT has for the host (thread.exdata), which
-- a sample contains: the number of a node in the tree of all stacks. Prints the tree at the end.
--   shadow.lua SECONDS          prints, for each node: number, the one below it, line of the function
-- 0 stands for moments at which the word and the stack cannot be the same: before a coroutine begins, stops or
-- goes on, and while an error removes frames.
local exdata = require("thread.exdata")
local ffi = require("ffi")
ffi.cdef("int qsort(void *base, size_t n, size_t size, int (*compare)(const int *, const int *));")
local seconds = tonumber(arg[1])
local words = {}
local function word(n)
  local w = words[n]
  if not w then w = ffi.cast("void *", n); words[n] = w end
  return w
end

local below, line_of, children, node = { 0 }, { 0 }, {}, 1
local function enter(line)
  local key = node * 1000 + line
  local child = children[key]
  if not child then
    assert(debug.getinfo(2, "S").linedefined == line, line)
    child = #below + 1
    below[child], line_of[child], children[key] = node, line, child
  end
  local was = node
  node = child
  exdata(word(child))
  return was
end
local function leave(was)
  node = was
  exdata(word(was))
end
local function moving() exdata(word(0)) end

local sum = 0

local function spin(n) local was = enter(40)
  for i = 1, n do sum = (sum + i) % 1000003 end
  leave(was)
end
local function deep(n) local was = enter(44)
  if n > 0 then deep(n - 1) else spin(300) end
  leave(was)
end
local function compare(a, b) local was = enter(48)
  local less = a < b
  leave(was)
  return less
end
local function sorting() local was = enter(53)
  local t = {}
  for i = 1, 60 do t[i] = i * 7919 % 61 end
  table.sort(t, compare)
  leave(was)
end
local function replace(c) local was = enter(59)
  spin(20)
  leave(was)
  return c
end
local function replacing() local was = enter(64)
  local s = (("abcdefgh"):rep(4):gsub("%a", replace))
  leave(was)
  return s
end
local object = setmetatable({}, { __index = function(_, k) local was = enter(69)
  spin(30)
  leave(was)
  return k
end })
local function indexing() local was = enter(74)
  for i = 1, 10 do sum = (sum + object[i]) % 1000003 end
  leave(was)
end
local function failing() enter(78)
  spin(50)
  moving()
  error("x", 0)
end
local function catching() local was = enter(83)
  local here = node
  pcall(failing)
  leave(here)
  spin(10)
  leave(was)
end
local order = ffi.cast("int (*)(const int *, const int *)", function(a, b) local was = enter(90)
  local d = a[0] - b[0]
  leave(was)
  return d
end)
local array = ffi.new("int[40]")
local function by_ffi() local was = enter(96)
  for i = 0, 39 do array[i] = i * 7919 % 41 end
  ffi.C.qsort(array, 40, 4, order)
  leave(was)
end
jit.off(by_ffi)
local function garbage() local was = enter(102)
  local t
  for i = 1, 300 do t = { i, tostring(i), t } end
  leave(was)
  return t
end

-- A coroutine's stack is on that of the one that resumes it.
local function inner() local was = enter(110)
  for i = 1, 3 do
    spin(60)
    local here = node
    moving()
    coroutine.yield(i)
    leave(here)
  end
  moving()
  node = was
end
local function outer() local was = enter(121)
  local here = node
  moving()
  local co = coroutine.wrap(inner)
  for _ = 1, 4 do
    co()
    leave(here)
    spin(30)
    moving()
  end
  node = was
end
local function coroutines() local was = enter(133)
  local here = node
  moving()
  local co = coroutine.create(outer)
  coroutine.resume(co)
  leave(here)
  leave(was)
end

local all = { function() deep(30) end, sorting, replacing, indexing, catching, by_ffi, garbage, coroutines }
local till = os.clock() + seconds
leave(1)
repeat
  for i = 1, #all do all[i]() end
until os.clock() >= till
moving()
for i = 1, #below do print(i, below[i], line_of[i]) end
