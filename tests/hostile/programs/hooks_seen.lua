-- SPDX-License-Identifier: MIT
-- What a program's own debug hooks see: one line for each piece of code and kind of hook.
local pieces = {
  calls = function()
    local function leaf(x) return x end
    for i = 1, 3 do leaf(i) leaf(i) end
    local x = leaf(1); leaf(x); local y = leaf(2)
    return leaf(y)
  end,
  c_functions = function()
    local g = string.gsub
    for i = 1, 3 do g("a", "b", "c"); g("x", "y", "z"); local x = string.format("%d", i) end
    local t = os.time(); local n = t
      and 1 or 2
  end,
  builtins = function()
    for i = 1, 3 do local x = math.floor(1.5); local y = type(i); local z = string.rep("a", 3) end
    for k, v in pairs({1, 2}) do local s = tostring(v) .. select("#", k, v) end
  end,
  protected = function()
    for i = 1, 3 do pcall(type, 1); pcall(error, "x"); local a = pcall(string.rep) end
    xpcall(function() error("y") end, function(m) return m .. "!" end)
  end,
  coroutines = function()
    local w = coroutine.wrap(function(a) while true do a = coroutine.yield(a) end end)
    for i = 1, 3 do w(i); local x = w(i) end
    local co = coroutine.create(function() coroutine.yield(1); error("z") end)
    coroutine.resume(co); coroutine.resume(co); coroutine.resume(co)
    local s = coroutine.status(co)
  end,
  callbacks = function()
    local t = {3, 1, 2}
    table.sort(t, function(a, b) return a < b end); local x = t[1]
    local s = string.gsub("abc", "%w", function(c) return c:upper() end); local y = s
    local f = loadstring("local a = 1\nlocal b = a\nreturn b"); local z = f()
  end,
  tails = function()
    local function last(...) return ... end
    local function middle(...) return last(...) end
    local function first(n) if n > 0 then return first(n - 1) end return middle(1, 2, 3) end
    first(3); local a, b = middle(1)
    local s = (function() return string.format("%s", a) end)(); local t = s
  end,
  objects = function()
    local m = {__index = function(t, k) return k end, __call = function(_, x) return x end,
               __add = function(a, b) return 1 end, __concat = function() return "c" end,
               __newindex = function() end, __eq = function() return true end}
    local o, p = setmetatable({}, m), setmetatable({}, m)
    local x = o.a; local y = o(1); local z = o + 1; local c = o .. p .. "x"; o.b = 1
    local e = o == p
  end,
  recursion = function()
    local function fib(n) return n < 2 and n or fib(n - 1) + fib(n - 2) end
    local x = fib(4); local y = fib(3)
  end,
  sets_hooks = function()
    debug.sethook(); local a = os.time(); local b = string.rep("a", 2)
    debug.sethook(function() end, "l"); local c = os.time()
    local d = coroutine.wrap(function() return 1 end)(); local e = d
  end,
  garbage = function()
    local m = {__gc = function() local x = 1 end}
    for i = 1, 3 do local u = newproxy(true); getmetatable(u).__gc = m.__gc; u = nil; collectgarbage() end
  end,
}
local kinds = {{"l"}, {"c"}, {"r"}, {"cr"}, {"lcr"}, {"", 1}, {"", 3}, {"l", 2}, {"c", 1}}
local names = {}
for name in pairs(pieces) do names[#names + 1] = name end
table.sort(names)

local events, n, getinfo = {}, 0, debug.getinfo
local function hook(event, line)
  local frame = getinfo(2, "Sl")
  n = n + 1
  events[n] = event:sub(1, 3) .. (line or "") .. ":" .. frame.linedefined .. ":" .. frame.currentline
end
for _, name in ipairs(names) do
  for _, kind in ipairs(kinds) do
    n = 0
    debug.sethook(hook, kind[1], kind[2] or 0)
    pieces[name]()
    debug.sethook()
    print(name, kind[1], kind[2], n, table.concat(events, " ", 1, n))
  end
end

-- Set in the middle of a line, after what ran without hooks.
for turn = 1, 3 do
  n = 0
  local x = turn > 1 and string.rep("a", turn) or 1; local w = coroutine.wrap(type); debug.sethook(hook, "l"); local y = w(x)
  debug.sethook()
  local z = coroutine.wrap(function() coroutine.yield(debug.sethook(hook, "l")); return 1 end); z(); z()
  debug.sethook()
  print("in the middle", turn, n, table.concat(events, " ", 1, n))
end

-- Line numbers of messages.
local function fixed()
  return 1 + fixed()
end
local function variable(...)
  return 1 + variable(1, ...)
end
local function wide(a, b, c)
  local d, e, f, g, h, i, j = a, b, c, a, b, c, a
  return 1 + wide(d, e,
                  f)
end
local function odd()
  return 1 + (pcall(odd) and
              error("deep") or 1)
end
for _, f in ipairs {fixed, variable, wide} do
  local _, message = pcall(f, 1)
  local _, trace = xpcall(f, debug.traceback, 1)
  local lines = select(2, trace:gsub("\n", ""))
  print("overflow", message, trace:match("^[^\n]*"), lines)
end
print("caught", (pcall(odd)))
