-- SPDX-License-Identifier: MIT
-- All solutions of the n queens: backtracking recursion over three arrays.
-- bench: size=10 small=6
local n = tonumber((...)) or 10
local columns, rising, falling = {}, {}, {}

local function place(row)
  if row > n then return 1 end
  local found = 0
  for col = 1, n do
    local up, down = row + col, row - col + n
    if not (columns[col] or rising[up] or falling[down]) then
      columns[col], rising[up], falling[down] = true, true, true
      found = found + place(row + 1)
      columns[col], rising[up], falling[down] = false, false, false
    end
  end
  return found
end

print(n, place(1))
