-- SPDX-License-Identifier: MIT
-- Two coroutines that resume a third in turns; producer, filter, consumer.
local function producer(n) --:producer
  return coroutine.create(function() --:produce
    for i = 1, n do coroutine.yield(i) end
    return nil
  end)
end
local function filter(source) --:filter
  return coroutine.create(function() --:filtering
    while true do
      local ok, v = coroutine.resume(source)
      if not v then return nil end
      if v % 2 == 0 then coroutine.yield(v) end
    end
  end)
end
local function consume(source) --:consume
  local sum = 0
  while true do
    local ok, v = coroutine.resume(source)
    if not v then return sum end
    sum = sum + v
  end
end
local total = 0
for i = 1, 30 do total = total + consume(filter(producer(20))) end
print(total)
