-- SPDX-License-Identifier: MIT
-- table.sort with and without a Lua callback, and a quicksort written in Lua.
-- bench: size=30000 small=800
local n = tonumber((...)) or 30000

local function numbers()
  local seed, list = 12345, {}
  for i = 1, n do
    seed = (seed * 1103515245 + 12345) % 2147483648
    list[i] = seed
  end
  return list
end

local function quicksort(list, lo, hi)
  while lo < hi do
    local pivot, i, j = list[math.floor((lo + hi) / 2)], lo, hi
    while i <= j do
      while list[i] < pivot do i = i + 1 end
      while list[j] > pivot do j = j - 1 end
      if i <= j then
        list[i], list[j] = list[j], list[i]
        i, j = i + 1, j - 1
      end
    end
    quicksort(list, lo, j)
    lo = i
  end
end

local plain, descending, own = numbers(), numbers(), numbers()
table.sort(plain)
table.sort(descending, function(a, b) return a > b end)
quicksort(own, 1, n)
for i = 1, n do
  assert(plain[i] == own[i] and plain[i] == descending[n + 1 - i])
end
print(plain[1], plain[math.floor(n / 2)], plain[n])
