-- SPDX-License-Identifier: MIT
-- Every way in which LuaJIT begins or ends a call, with garbage on the way: see polls_host.c.
local ffi = require("ffi")
ffi.cdef [[
  void qsort(void *, size_t, size_t, int (*)(const void *, const void *));
  typedef struct { double x; } polls_point;
]]
collectgarbage("setpause", 1)

local function leaf(x) return { x } end
local function vararg(...) local t = { ... } return #t, ... end
local function tail(x) return leaf(x .. "") end
local function tail_c(x) return tostring(x) end

local meta = {}
for _, event in ipairs { "add", "concat", "eq", "lt", "le", "unm", "len", "call", "index" } do
  meta["__" .. event] = function(a) leaf(a) return event == "index" and 1 or a end
end
meta.__newindex = function(t, k, v) rawset(t, k, { v }) end
meta.__tostring = function(t) return "object " .. #leaf(t) end
local function object() return setmetatable({}, meta) end
local callable = setmetatable({}, { __call = function(_, x) return { x } end })
local shown = setmetatable({}, { __tostring = callable })

local function metamethods()
  local a, b = object(), object()
  local _ = a + b, a .. b, a == b, a < b, a <= b, -a, a.x, a(1), callable(2)
  a.y = 1
  return tostring(a), tail_c(b), pcall(tostring, shown)
end

local function errors()
  pcall(error, { 1 })
  pcall(function() local t = nil; return t.x .. leaf(1) end)
  xpcall(function() leaf(1) error({ "x" }) end, function(e) return { e, debug.traceback() } end)
  xpcall(function() return callable() end, function() end)
  pcall(pcall, leaf, 1)
  select(2, pcall(nil))
end

local function from_c()
  local s = string.gsub("abc", "%w", function(c) return c .. #leaf(c) end)
  table.sort({ 3, 1, 2, 5, 4 }, function(a, b) return #leaf(a) < 2 and a < b end)
  load(function() leaf(1) return nil end)
  local parts = { "return ", "1 + ", "1" }
  local n = 0
  assert(load(function() n = n + 1 return parts[n] end))()
  return s, string.format("%s %s", s, tostring(1.5)), ("x"):rep(3)
end

local function coroutines()
  local function body(a) for i = 1, 3 do a = coroutine.yield({ a, i }) end leaf(a) return tail(1) end
  local co = coroutine.create(body)
  while coroutine.resume(co, 1) do leaf(co) end
  for x in coroutine.wrap(function() for i = 1, 3 do coroutine.yield({ i }) end end) do leaf(x) end
  pcall(coroutine.wrap(function() leaf(1) error({}) end))
  coroutine.wrap(function() coroutine.wrap(body)(1) coroutine.yield({}) end)()
  coroutine.wrap(pcall)(leaf, 1)
  coroutine.resume(coroutine.create(string.rep), "x", 3)
end

local function finalizers()
  for _ = 1, 2 do
    local p = newproxy(true)
    getmetatable(p).__gc = function() leaf(1) end
    ffi.gc(ffi.new("int[4]"), function() leaf(2) pcall(error, {}) end)
    p = nil
    collectgarbage("step", 0)
    leaf(3)
  end
end

local numbers = ffi.new("int[6]", 5, 3, 1, 4, 2, 0)
local intp = ffi.typeof("const int *")
local order = function(a, b) return ffi.cast(intp, a)[0] - ffi.cast(intp, b)[0] end
local failing = function(a) leaf(a) error("in a callback") end
local returns_nonsense = function(a) leaf(a) return {} end
local type_of_order = "int (*)(const void *, const void *)"
local function callbacks()
  local function sort(f)
    local cb = ffi.cast(type_of_order, f)
    ffi.C.qsort(numbers, 6, 4, cb)
    cb:free()
  end
  jit.off(sort)
  sort(order)
  sort(function(a, b) sort(order) return #leaf(a) - 1 end)
  local callback = ffi.cast(type_of_order, tostring)  -- a C function
  pcall(function() ffi.C.qsort(numbers, 6, 4, callback) end)
  for _, f in ipairs { failing, returns_nonsense } do
    local cb = ffi.cast(type_of_order, f)
    local function fails() ffi.C.qsort(numbers, 6, 4, cb) end
    jit.off(fails)
    assert(not pcall(fails))
    cb:free()
  end
  callback:free()
end

local point = ffi.metatype("polls_point", {
  __add = function(a, b) return leaf(a) and a end,
  __index = function(p, k) return leaf(k) end,
  __call = function(p, x) return leaf(x) end,
  __tostring = function() return "point" .. #leaf(1) end,
})
local function cdata()
  local p = point(1)
  for i = 1, 20 do p = p + p; leaf(p.y) p(i) end
  return tostring(p), 1LL + 2, tostring(3LL)
end

local function hooks()
  local function hook() leaf(1) end
  for _, mask in ipairs { "c", "r", "l", "crl" } do
    debug.sethook(hook, mask)
    leaf(2) tail(3)
    pcall(error, 1)
    debug.sethook()
  end
  debug.sethook(hook, "", 3)
  for i = 1, 10 do leaf(i) end
  debug.sethook()
end

local function compiled()
  local n = 0
  for i = 1, 60 do n = n + #leaf(i) + vararg(i, { i }) + #tail(i) end
  local function fib(k) if k < 2 then return #leaf(k) end return fib(k - 1) + fib(k - 2) end
  local function down(k) if k == 0 then return leaf(0) end return down(k - 1) end
  return n + fib(9), down(40)
end

for _, kind in ipairs { metamethods, errors, from_c, coroutines, finalizers, callbacks, cdata, hooks, compiled } do
  kind()
  vararg(kind())
  pcall(kind)
end
