-- SPDX-License-Identifier: MIT
-- Two hundred coroutines alive at once, resumed in turn.
local function step(x) return x + 1 end --:step
local function worker(id) --:worker
  local n = 0
  for i = 1, 3 do
    n = step(n)
    coroutine.yield(n)
  end
  return n
end
local pool = {}
for i = 1, 4 do pool[i] = coroutine.create(worker) end
local sum = 0
for round = 1, 4 do
  for i = 1, #pool do
    local _, n = coroutine.resume(pool[i], i)
    sum = sum + n
  end
end
for i = 1, 200 do
  local co = coroutine.wrap(worker)
  sum = sum + co(i) + co()
  if i % 50 == 0 then collectgarbage() end
end
collectgarbage()
print(sum)
