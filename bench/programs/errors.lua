-- SPDX-License-Identifier: MIT
-- error and pcall/xpcall at several depths, with strings and tables as errors.
-- bench: size=15000 small=400
local n = tonumber((...)) or 15000

local function thrower(depth, what)
  if depth == 0 then error(what, 0) end
  local result = thrower(depth - 1, what)
  return result
end

local function guarded(i)
  local ok, err = pcall(thrower, i % 5, i % 2 == 0 and "text" or {code = i})
  if ok then return 0 end
  return type(err) == "table" and err.code or #err
end

local function handler(err) return "<" .. tostring(err) .. ">" end

local function rethrown(i)
  local _, err = xpcall(function()
    local ok, inner = pcall(thrower, 2, "inner" .. i % 10)
    if not ok then error(inner .. "!", 0) end
  end, handler)
  return #err
end

local sum = 0
for i = 1, n do
  sum = sum + guarded(i)
  if i % 4 == 0 then sum = sum + rethrown(i) end
  local ok, value = pcall(math.max, i, 3)
  if ok then sum = sum + value end
end
print(sum)
