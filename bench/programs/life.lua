-- SPDX-License-Identifier: MIT
-- Conway's game of life on a torus: array reads with computed indices.
-- bench: size=120 small=16
local n = tonumber((...)) or 120

local function grid(fill)
  local rows = {}
  for y = 1, n do
    rows[y] = {}
    for x = 1, n do rows[y][x] = fill(x, y) end
  end
  return rows
end

local function neighbours(above, row, below, x)
  local l, r = x == 1 and n or x - 1, x == n and 1 or x + 1
  return above[l] + above[x] + above[r] + row[l] + row[r] + below[l] + below[x] + below[r]
end

local function step(from, to)
  for y = 1, n do
    local above, row, below = from[y == 1 and n or y - 1], from[y], from[y == n and 1 or y + 1]
    local out = to[y]
    for x = 1, n do
      local k = neighbours(above, row, below, x)
      out[x] = (k == 3 or (k == 2 and row[x] == 1)) and 1 or 0
    end
  end
end

local now = grid(function(x, y) return (x * x + 3 * x * y * y) % 11 < 4 and 1 or 0 end)
local nxt = grid(function() return 0 end)
for _ = 1, 100 do
  step(now, nxt)
  now, nxt = nxt, now
end
local alive, mark = 0, 0
for y = 1, n do
  for x = 1, n do
    alive = alive + now[y][x]
    mark = (mark * 2 + now[y][x]) % 1000003
  end
end
print(alive, mark)
