-- SPDX-License-Identifier: MIT
-- Depth-first walk over a binary tree: calls whose number depends on data.
local function build(n) --:build
  if n == 0 then return nil end
  return { left = build(n - 1), right = n % 2 == 0 and build(n - 1) or nil, n = n }
end
local function walk(t) --:walk
  if not t then return 0 end
  return t.n + walk(t.left) + walk(t.right)
end
print(walk(build(13)))
