-- SPDX-License-Identifier: MIT
-- coroutine.wrap as iterator of a hot loop.
local function range(n) --:range
  return coroutine.wrap(function() --:gen
    for i = 1, n do coroutine.yield(i) end
  end)
end
local function use(x) return x + 1 end --:use
local sum = 0
for i in range(300) do sum = sum + use(i) end
for i = 1, 40 do
  for j in range(3) do sum = sum + use(j) end
end
print(sum)
