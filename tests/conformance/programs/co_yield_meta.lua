-- SPDX-License-Identifier: MIT
-- Yield across metamethods and out of an iterator.
local function index(t, k) return (coroutine.yield(k)) end --:index
local function add(a, b) --:add
  local r = coroutine.yield("add")
  return r
end
local function call(self, x) --:call
  return coroutine.yield(x)
end
local function less(a, b) return coroutine.yield("lt") end --:less
local mt = { __index = index, __add = add, __call = call, __lt = less }
local function object() return setmetatable({}, mt) end --:object
local function iter(s, c) --:iter
  if c < 3 then return c + coroutine.yield("iter") end
end
local function body() --:body
  local o, p = object(), object()
  local sum = o.field
  sum = sum + (o + p)
  sum = sum + o(1)
  if o < p then sum = sum + 1 end
  for c in iter, nil, 0 do sum = sum + c end
  return sum
end
local total = 0
for i = 1, 60 do
  local co = coroutine.wrap(body)
  repeat
    local v = co(1)
  until type(v) == "number" and v > 1
  total = total + 1
end
print(total)
