-- SPDX-License-Identifier: MIT
-- C functions of a host, library functions, callbacks from C, methods of a string.
local t = {}
for i = 1, 300 do t[i] = (i * 7919) % 1009 end
for round = 1, 20 do
  table.sort(t, function(a, b) if round % 2 == 0 then return a < b end return a > b end)
  local s = table.concat(t, ",")
  s = s:gsub("%d+", function(d) if #d > 2 then return "x" end end)
  local parts = {}
  for w in s:gmatch("[^,]+") do parts[#parts + 1] = w end
  assert(#parts == 300)
  for i = 1, 50 do
    calls_back(plain_c)
    calls_back(function() return calls_back(function() return plain_c() end) end)
  end
  local chunk = assert(loadstring("local a = ... return a + 1", "=chunk" .. round % 3))
  chunk(round)
  string.format("%d %s", round, "x")
  next({})
end
