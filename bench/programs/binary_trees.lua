-- SPDX-License-Identifier: MIT
-- Builds and walks short-lived trees: allocation and garbage collection.
-- bench: size=16 small=6
local n = tonumber((...)) or 16

local function build(depth)
  if depth == 0 then return {} end
  return {build(depth - 1), build(depth - 1)}
end

local function nodes(tree)
  local left = tree[1]
  if not left then return 1 end
  return 1 + nodes(left) + nodes(tree[2])
end

local long_lived = build(n)
local total = 0
for depth = 4, n, 4 do
  for _ = 1, 2 ^ (n - depth) do total = total + nodes(build(depth)) end
end
print(total, nodes(long_lived))
