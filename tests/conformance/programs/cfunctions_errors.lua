-- SPDX-License-Identifier: MIT
-- C functions that fail, below and above Lua functions.
local function bad(i) --:bad
  local s = string.rep("x", 3)
  return string.gsub(s, "%", i)
end
local function worse() --:worse
  local x = setmetatable({}, { __index = string.match })
  return x.y.z
end
local function call(f, ...) --:call
  local ok, e = pcall(f, ...)
  return ok
end
for i = 1, 70 do
  call(bad, i)
  call(table.concat, { {} })
  call(table.maxn, 1)
  call(error, "x")
  call(worse)
end
io.write("ok\n")
