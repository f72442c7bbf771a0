-- SPDX-License-Identifier: MIT
-- A pipeline of coroutines: source, filters, sink; two switches per value and stage.
-- bench: size=100000 small=500
local n = tonumber((...)) or 100000

local function source(limit)
  return coroutine.wrap(function()
    for i = 1, limit do coroutine.yield(i) end
  end)
end

local function map(input, f)
  return coroutine.wrap(function()
    for value in input do coroutine.yield(f(value)) end
  end)
end

local function filter(input, keep)
  return coroutine.wrap(function()
    for value in input do
      if keep(value) then coroutine.yield(value) end
    end
  end)
end

local sum, count = 0, 0
local squares = map(source(n), function(x) return x * x % 1009 end)
for value in filter(squares, function(x) return x % 3 ~= 0 end) do
  sum, count = sum + value, count + 1
end
print(sum, count)
