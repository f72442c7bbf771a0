local T, new_shadow, ffi = ...  -- SPDX-License-Identifier: MIT
local main = T.chain[0] main.id[0] = 0 main.n = 1

local function leaf(a, b) ENTER
  local r = a + b
  LEAVE
  return r
end

local function deep(n) ENTER
  local r = n
  if n > 0 then r = deep(n - 1) + leaf(n, 1) end
  LEAVE
  return r
end

local function two(n) ENTER
  local r = leaf(n, 1) + 1
  LEAVE
  return r
end

local function three(n) ENTER
  local r = two(n)
  if n % 5 == 0 then r = r + two(r) end
  LEAVE
  return r
end

local function varied(n, ...) ENTER
  local r = select("#", ...) + #{...}
  if n > 0 then r = r + varied(n - 1, n, ...) end
  LEAVE
  return r
end

local object = setmetatable({}, {
  __index = function(t, k) ENTER
    local r = leaf(#k, 1)
    LEAVE
    return r
  end,
  __add = function(a, b) ENTER
    local r = leaf(1, 2)
    LEAVE
    return r
  end,
  __call = function(self, x, ...) ENTER
    local r = leaf(x, select("#", ...))
    LEAVE
    return r
  end,
  __newindex = function(t, k, v) ENTER
    leaf(1, v)
    LEAVE
  end,
  __lt = function(a, b) ENTER
    LEAVE
    return true
  end,
  __concat = function(a, b) ENTER
    LEAVE
    return "x"
  end,
})

local function metamethods(n) ENTER
  local r = object.field + (object + 1) + object(n, 1, 2)
  object.new = n
  if object < object then r = r + 1 end
  local s = "a" .. n .. object
  LEAVE
  return r
end

local function builtins(n) ENTER
  local t = {n, n + 1, 3, x = 1}
  local s = ("%d %s"):format(n, "y") .. tostring(n)
  local r = math.floor(n / 2) + math.max(n, 3) + #t + #s + n % 3 + 2 ^ n
  local f = rawget({leaf}, 1)
  assert(f == leaf and next({leaf}) == 1)
  for k, v in pairs(t) do r = r + v end
  for i, v in ipairs(t) do r = r + v end
  t[n + 10] = 1 t[2.5] = 2
  r = r + (t[n + 10] or 0) + (t[77] or 0) + #table.concat({"a", "b"}) + s:byte(1) + select(2, 1, 2)
  r = r + math.sqrt(n) + math.sin(n) + math.abs(-n) + bit.band(n, 7) + (tonumber("12") or 0)
  s = s:sub(1, 3):upper():rep(2)
  setmetatable(t, getmetatable(object)) unpack(t, 1, 3)
  type(t) rawset(t, "k", leaf)
  local g = select(1, f, leaf)
  LEAVE
  return r, f, g
end

local function sorting() ENTER
  local t = {5, 3, 9, 1}
  table.sort(t, function(a, b) ENTER
    LEAVE
    return a < b
  end)
  local r = ("abc"):gsub("%w", function(c) ENTER
    leaf(1, 2)
    LEAVE
    return c
  end)
  LEAVE
end

local function thrower(n) ENTER
  if n > 0 then thrower(n - 1) end
  T.unwinding = 1
  error("x")
end

local function errors() ENTER
  local s_ = T.chain[T.depth]
  local n = s_.n
  for i = 1, 3 do
    pcall(thrower, i)
    s_.n = n
    T.unwinding = 0
    xpcall(thrower, function(m) return m end, 1)
    s_.n = n
    T.unwinding = 0
    host.c_pcall(function() ENTER
      thrower(1)
    end)
    s_.n = n
    T.unwinding = 0
    host.c_cpcall(function() ENTER
      thrower(1)
    end)
    s_.n = n
    T.unwinding = 0
    pcall(leaf, 1, 2)
  end
  LEAVE
end

local function c_functions(n) ENTER
  local r = host.c_call(function(x) ENTER
    local r = leaf(x, 1)
    if n > 0 then r = r + host.c_call(function(y) ENTER
      LEAVE
      return y
    end, 1) end
    LEAVE
    return r
  end, n)
  host.c_pcall(function() ENTER
    leaf(1, 2)
    LEAVE
  end)
  host.c_cpcall(function() ENTER
    leaf(1, 2)
    LEAVE
  end)
  LEAVE
  return r
end

-- A coroutine takes its place in the chain when it begins to run, and leaves it before it stops. `moving` is
-- set in between.
local function yielding(n, yield, shadow) ENTER
  for i = 1, n do
    T.other = shadow T.moving = 1 T.depth = T.depth - 1
    yield(i)
    T.chain[T.depth + 1] = shadow T.depth = T.depth + 1 T.moving = 0
  end
  leaf(1, 2)
  LEAVE
end

local function coroutines(resume, yield, depth) ENTER
  local shadow = new_shadow()
  local co = coroutine.create(function() T.chain[T.depth + 1] = shadow T.depth = T.depth + 1 T.moving = 0 ENTER
    leaf(1, 2)
    yielding(2, yield, shadow)
    if depth > 0 then coroutines(resume, yield, depth - 1) end
    LEAVE
    T.other = shadow T.moving = 1 T.depth = T.depth - 1
  end)
  for i = 1, 3 do
    T.other = shadow T.moving = 1
    resume(co)
    T.moving = 0
    leaf(1, 2)
  end
  LEAVE
end

local function wrapped(n) ENTER
  local shadow = new_shadow()
  local f = coroutine.wrap(function() T.chain[T.depth + 1] = shadow T.depth = T.depth + 1 T.moving = 0 ENTER
    yielding(n, coroutine.yield, shadow)
    LEAVE
    T.other = shadow T.moving = 1 T.depth = T.depth - 1
    return 1, 2, 3
  end)
  for i = 1, n + 1 do
    T.other = shadow T.moving = 1
    f()
    T.moving = 0
  end
  LEAVE
end

local array = ffi.new("int[8]", 5, 2, 7, 1, 9, 3, 8, 4)
local function compare(a, b) ENTER
  local r = a[0] < b[0] and -1 or 1
  LEAVE
  return r
end
local callback = ffi.cast("int (*)(const int *, const int *)", compare)
jit.off(compare)
local function callbacks() ENTER
  ffi.C.qsort(array, 8, 4, callback)
  array[0], array[7] = 100, -5
  LEAVE
end
jit.off(callbacks)

local function garbage(n) ENTER
  local t
  for i = 1, n do t = {t and t[1], i, tostring(i)} end
  collectgarbage("step")
  LEAVE
end

local function loops(n) ENTER
  local r = 0
  for i = 1, n do
    r = r + three(i)
    if i % 7 == 0 then r = r + leaf(leaf(i, i), 2) end
    if i % 11 == 0 then r = r + #tostring(i) end
    local t = {x = i}
    r = r + t.x
  end
  LEAVE
  return r
end

local tests = {
  deep = function() ENTER deep(6) deep(12) LEAVE end,
  varied = function() ENTER varied(4, 1, 2, 3) LEAVE end,
  metamethods = function() ENTER metamethods(3) LEAVE end,
  builtins = function() ENTER builtins(5) LEAVE end,
  sorting = function() ENTER sorting() LEAVE end,
  errors = function() ENTER errors() LEAVE end,
  c_functions = function() ENTER c_functions(2) LEAVE end,
  coroutines = function() ENTER coroutines(coroutine.resume, coroutine.yield, 2) LEAVE end,
  c_coroutines = function() ENTER coroutines(host.c_resume, coroutine.yield, 2) LEAVE end,
  c_yields = function() ENTER coroutines(host.c_resume, host.c_yield, 1) coroutines(coroutine.resume, host.c_yield, 1) LEAVE end,
  wrapped = function() ENTER wrapped(3) LEAVE end,
  callbacks = function() ENTER callbacks() LEAVE end,
  garbage = function() ENTER garbage(100) LEAVE end,
  loops = function() ENTER loops(jit.status() and 60 or 5) LEAVE end,
}
local order = {"deep", "varied", "metamethods", "builtins", "sorting", "errors", "c_functions", "coroutines",
               "c_coroutines", "c_yields", "wrapped", "callbacks", "garbage", "loops"}

for round = 1, 12 do
  for _, name in ipairs(order) do
    if not only or only == name then
      host.step(not jit.status() or round > 2)  -- then it has been compiled
      tests[name]()
      host.step(false)
    end
  end
end
