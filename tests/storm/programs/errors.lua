-- SPDX-License-Identifier: MIT
-- Errors at many depths, caught by pcall and xpcall, also through C functions.
local function thrower(depth, what)
  if depth == 0 then error(what, 0) end
  local r = thrower(depth - 1, what)
  return r
end
local function handler(e) return tostring(e) .. "!" end
local caught, text = 0, ""
for i = 1, 60000 do
  local ok, e = pcall(thrower, i % 11, i)
  if not ok then caught = caught + e % 7 end
  if i % 5 == 0 then
    local _, m = xpcall(function() return ("abc"):gsub("%w", function(c) thrower(i % 3, c) end) end, handler)
    text = m
  end
end
print(caught, text)
