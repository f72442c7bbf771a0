-- SPDX-License-Identifier: MIT
-- Pancake flips over all permutations: integer arrays, branches, no calls in the loop.
-- bench: size=9 small=6
local n = tonumber((...)) or 9

local function flips(perm, work)
  for i = 1, n do work[i] = perm[i] end
  local count, first = 0, work[1]
  while first ~= 1 do
    local lo, hi = 1, first
    while lo < hi do
      work[lo], work[hi] = work[hi], work[lo]
      lo, hi = lo + 1, hi - 1
    end
    count, first = count + 1, work[1]
  end
  return count
end

-- Rotates the first r elements, r = 2, 3, ..., until counts[r] is not used up; false at the end.
local function next_permutation(perm, counts)
  for r = 2, n do
    local first = perm[1]
    for i = 1, r - 1 do perm[i] = perm[i + 1] end
    perm[r] = first
    counts[r] = counts[r] - 1
    if counts[r] > 0 then return true end
    counts[r] = r
  end
  return false
end

local perm, counts, work = {}, {}, {}
for i = 1, n do perm[i], counts[i], work[i] = i, i, 0 end
local sum, most, sign = 0, 0, 1
repeat
  local f = flips(perm, work)
  sum, sign = sum + sign * f, -sign
  if f > most then most = f end
until not next_permutation(perm, counts)
print(sum, most)
