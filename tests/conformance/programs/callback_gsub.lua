-- SPDX-License-Identifier: MIT
-- string.gsub with a function, hot, failing and nested.
local function upper(c) return c:upper() end --:upper
local function twice(c) --:twice
  return (c:gsub(".", upper))
end
local function fails(c) --:fails
  if c == "x" then error("x", 0) end
end
local n = 0
for i = 1, 60 do
  local a = ("abc"):gsub("%w", upper)
  local b = ("ab"):gsub("%w", twice)
  local ok = pcall(string.gsub, "abx", "%w", fails)
  n = n + #a + #b + (ok and 0 or 1)
end
io.write(n, "\n")
