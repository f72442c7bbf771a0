-- SPDX-License-Identifier: MIT
-- A tail call to pcall: the caller is gone, the protected function runs in its place.
local function good(x) return x + 1 end --:good
local function bad(x) error("bad " .. x, 0) end --:bad
local function try(f, x) --:try
  return pcall(f, x)
end
local out = {}
for i = 1, 100 do
  local ok, v = try(i % 10 == 0 and bad or good, i)
  if not ok then out[#out + 1] = v end
end
print(table.concat(out, " "))
