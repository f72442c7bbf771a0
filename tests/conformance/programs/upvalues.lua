-- SPDX-License-Identifier: MIT
-- Closures made in loops, upvalues open and closed, shared and changed.
local function make(n) --:make
  local list = {}
  local shared = 0
  for i = 1, n do
    list[i] = function(x) --:closure
      shared = shared + x
      i = i + 1
      return shared + i
    end
  end
  return list
end
local sum = 0
for round = 1, 40 do
  local list = make(3)
  for i = 1, #list do sum = sum + list[i](round) end
  local up = round
  local function bump() up = up + 1 return up end --:bump
  bump()
  sum = sum + bump()
end
print(sum)
