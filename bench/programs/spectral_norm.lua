-- SPDX-License-Identifier: MIT
-- Power iteration with a matrix that is a function: small inlined calls.
-- bench: size=500 small=20
local n = tonumber((...)) or 500

local function cell(i, j)
  local ij = i + j - 1
  return 1.0 / (ij * (ij - 1) * 0.5 + i)
end

local function times(x, y)
  for i = 1, n do
    local sum = 0
    for j = 1, n do sum = sum + x[j] * cell(i, j) end
    y[i] = sum
  end
end

local function times_transposed(x, y)
  for i = 1, n do
    local sum = 0
    for j = 1, n do sum = sum + x[j] * cell(j, i) end
    y[i] = sum
  end
end

local u, v, t = {}, {}, {}
for i = 1, n do u[i] = 1 end
for _ = 1, 8 do
  times(u, t); times_transposed(t, v)
  times(v, t); times_transposed(t, u)
end
local uv, vv = 0, 0
for i = 1, n do
  uv = uv + u[i] * v[i]
  vv = vv + v[i] * v[i]
end
print(string.format("%.9f", math.sqrt(uv / vv)))
