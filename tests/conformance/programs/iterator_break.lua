-- SPDX-License-Identifier: MIT
-- Loops left by break, return and error.
local function iter(s, i) --:iter
  if i < 10 then return i + 1 end
end
local function search(n) --:search
  for i in iter, nil, 0 do
    if i == n then return i end
    if i > n then error("missed", 0) end
  end
  return -1
end
local function count(n) --:count
  local c = 0
  for i in iter, nil, 0 do
    if i > n then break end
    c = c + 1
  end
  return c
end
local sum = 0
for i = 1, 80 do
  sum = sum + count(i % 12) + search(i % 5 + 1)
  local ok = pcall(search, 2.5)
  if ok then sum = 0 end
end
print(sum)
