-- SPDX-License-Identifier: MIT
-- Coroutines of every kind, each with a label of its own, and nearly all the time in compiled code. The
-- program says before and after each switch what is true (truth.c). Runs for arg[1] seconds.
local truth = require "truth"
local set, label = truth.set, truth.label
local unknown, unlabelled, first = 0, 2, 100

local last, sum = first, 0
local function number() last = last + 1; if last > 2^30 then last = first end; return last end

local function work(n) for i = 1, n or 300 do sum = sum + i % 7 end end

-- Runs f as the coroutine `me`, which may switch only through these.
local function name(me)
  if me == unlabelled then return end
  label("id", tostring(me))
  label("kind", "coroutine " .. me)
end
local function yield(me, ...)
  set(unknown)
  local a = coroutine.yield(...)
  set(me)
  return a
end
local function resume(me, co, ...)
  set(unknown)
  local ok, a = coroutine.resume(co, ...)
  set(me)
  return ok, a
end
-- A body that says what it is, and ends unknown.
local function body(f, me)
  return function(...)
    name(me)
    set(me)
    work(30)
    local a = f(me, ...)
    work(30)
    set(unknown)
    return a
  end
end

local function generator(me, n) for i = 1, n do work(); yield(me, i) end end

local function generators(me)
  local a, b = coroutine.create(body(generator, number())), coroutine.create(body(generator, number()))
  for i = 1, 5 do
    resume(me, a, 5); work(100)
    resume(me, b, 5); work(100)
  end
end

local function wraps(me)
  set(unknown)
  for i in coroutine.wrap(body(function(it) for i = 1, 5 do work(); yield(it, i) end end, number())) do
    set(me); work(100); set(unknown)
  end
  set(me)
end

-- Errors through coroutines: to resume, and by wrap to pcall in the resumer.
local function errors(me)
  local co = coroutine.create(body(function(it) work(); set(unknown); error("x") end, number()))
  resume(me, co); work()
  resume(me, co); work()
  set(unknown)
  pcall(coroutine.wrap(body(function(it)
    work()
    set(unknown)
    coroutine.wrap(body(function() work(); set(unknown); error("y") end, number()))()
  end, number())))
  set(me)
  work()
end

local function nested(me, depth)
  work(100)
  if depth > 0 then resume(me, coroutine.create(body(nested, number())), depth - 1) end
  work(100)
end

-- Labels change while a coroutine runs, and are inherited.
local function changes(me)
  local co = coroutine.create(body(function(it)
    for i = 1, 3 do
      set(unknown)
      it = number()
      name(it)
      set(it)
      work()
      yield(it)
    end
  end, number()))
  for i = 1, 4 do resume(me, co); work() end
  set(unknown)
  co = coroutine.create(function() set(me); work(); set(unknown) end)
  coroutine.resume(co)
  set(me)
end

-- A coroutine that has no labels inside one that has.
local function without(me)
  local co = coroutine.create(function()
    label("id"); label("kind")
    set(unlabelled); work(); yield(unlabelled); work(); set(unknown)
  end)
  for i = 1, 2 do resume(me, co); work() end
end

-- Iterators and sort call Lua from C functions, and coroutines inside those.
local function sorts(me)
  local t = {}
  for i = 1, 10 do t[i] = (i * 7) % 11 end
  table.sort(t, function(a, b)
    resume(me, coroutine.create(body(function() work(30) end, number())))
    return a < b
  end)
end

local requests = truth.request(4711) ~= 0
truth.request(0)
local function request(me)
  if not requests then return end
  local co = coroutine.create(function()
    local it = number()
    name(it)
    truth.request(it * 16)
    set(it, it * 16)
    work()
    set(unknown)
    coroutine.yield()
    set(it, it * 16)
    work()
    set(unknown)
    truth.request(0)
    set(it, 0)
    work()
    set(unknown)
  end)
  for i = 1, 2 do resume(me, co); work() end
end

local me = number()
name(me)
set(me)
truth.started()
local seconds = tonumber(arg and arg[1] or 10)
local stop = os.time() + seconds
while os.time() < stop do
  generators(me); wraps(me); errors(me); nested(me, 20); changes(me); without(me); sorts(me); request(me)
  work(3000)
end
