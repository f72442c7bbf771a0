-- SPDX-License-Identifier: MIT
-- Makes and calls closures: counters, composition, folds, memoised recursion.
-- bench: size=100000 small=1000
local n = tonumber((...)) or 100000

local function counter()
  local count = 0
  return function(by) count = count + by; return count end
end

local function compose(f, g) return function(x) return f(g(x)) end end

local function fold(list, f, acc)
  for i = 1, #list do acc = f(acc, list[i]) end
  return acc
end

local function memoise(f)
  local known = {}
  return function(x)
    local value = known[x]
    if value == nil then
      value = f(x)
      known[x] = value
    end
    return value
  end
end

local list = {}
for i = 1, 100 do list[i] = i end
local count, sum = counter(), 0
for i = 1, n do
  local shift = compose(function(x) return x + i % 7 end, function(x) return x * 2 end)
  sum = (sum + shift(i) + count(1)) % 1000003
  if i % 50 == 0 then
    sum = (sum + fold(list, function(a, b) return (a * 3 + b) % 1009 end, i)) % 1000003
  end
  if i % 200 == 0 then
    local choose
    choose = memoise(function(k) return k < 2 and k or (choose(k - 1) + choose(k - 2)) % 1009 end)
    sum = sum + choose(30)
  end
end
print(sum, count(0))
