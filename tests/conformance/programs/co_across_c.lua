-- SPDX-License-Identifier: MIT
-- Yield is refused inside a C function that called back; the error ends the calls.
local function compare(a, b) --:compare
  coroutine.yield()
  return a < b
end
local function body() --:body
  local ok, e = pcall(table.sort, { 2, 1 }, compare)
  return e
end
local out
for i = 1, 60 do
  local co = coroutine.wrap(body)
  out = co()
end
print(out)
