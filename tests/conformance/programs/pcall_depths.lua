-- SPDX-License-Identifier: MIT
-- An error thrown at every depth and caught at the bottom: one unwind removes all.
local function down(n) --:down
  if n == 0 then error("bottom") end
  local x = down(n - 1)
  return x
end
local caught = 0
for depth = 0, 90 do
  local ok = pcall(down, depth)
  if not ok then caught = caught + 1 end
end
print(caught)
