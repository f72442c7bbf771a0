-- SPDX-License-Identifier: MIT
-- Functions that live for a moment, each in the memory of one that came before it: the chunk of what parents[i]
-- calls is k<i>, those of the parents are p<i>. arg[1]: seconds.
local n, parents = 0, {}
for i = 0, 9 do
  parents[i] = loadstring(([[
    local n = ...
    local f = loadstring("local function inner(z) local s = 0 for i = 1, 300 do s = s + i %% 3 end return s end inner(1) inner(2)", "=k%d_" .. n)
    f() f()
    f = nil
    if n %% 100 == 0 then collectgarbage() end]]):format(i), "=p" .. i)
end
local start = os.clock()
while os.clock() - start < tonumber(arg[1]) do
  for i = 1, 10 do
    n = n + 1
    parents[i * 7 % 10](n)
  end
end
