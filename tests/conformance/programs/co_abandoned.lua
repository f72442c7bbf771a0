-- SPDX-License-Identifier: MIT
-- Coroutines left suspended deep in their calls and collected; new ones may get the same address.
local function down(n) --:down
  if n == 0 then
    coroutine.yield()
    return 0
  end
  return 1 + down(n - 1)
end
for i = 1, 60 do
  local co = coroutine.create(down)
  coroutine.resume(co, i % 7)
  co = nil
  if i % 10 == 0 then
    collectgarbage()
    collectgarbage()
  end
end
print("done")
