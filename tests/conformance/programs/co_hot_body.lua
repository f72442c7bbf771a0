-- SPDX-License-Identifier: MIT
-- Loops inside the body get compiled, the yield is inside the loop.
local function work(i) --:work
  return i % 7
end
local function body(n) --:body
  local s = 0
  for i = 1, n do
    s = s + work(i)
    if i % 100 == 0 then coroutine.yield(s) end
  end
  return s
end
local co = coroutine.create(body)
local n = 0
while coroutine.status(co) ~= "dead" do
  coroutine.resume(co, 1050)
  n = n + 1
end
print(n)
