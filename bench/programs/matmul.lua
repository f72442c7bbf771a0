-- SPDX-License-Identifier: MIT
-- Product of two matrices held as tables of rows.
-- bench: size=200 small=20
local n = tonumber((...)) or 200

local function matrix(f)
  local rows = {}
  for i = 1, n do
    local row = {}
    for j = 1, n do row[j] = f(i, j) end
    rows[i] = row
  end
  return rows
end

local function transpose(m) return matrix(function(i, j) return m[j][i] end) end

local function multiply(a, b)
  local columns = transpose(b)
  return matrix(function(i, j)
    local row, column, sum = a[i], columns[j], 0
    for k = 1, n do sum = sum + row[k] * column[k] end
    return sum
  end)
end

local a = matrix(function(i, j) return (i - j) * (i + j) / n end)
local b = matrix(function(i, j) return i % 5 + j % 3 end)
local c = multiply(a, b)
print(string.format("%.4f %.4f", c[1][n], c[math.floor(n / 2)][3]))
