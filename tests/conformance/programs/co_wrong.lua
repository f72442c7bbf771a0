-- SPDX-License-Identifier: MIT
-- Resumes that are refused: dead, running and waiting coroutines. Nothing runs, so there are no events.
local outer
local function probe() --:probe
  local results = {}
  results[1] = coroutine.resume(coroutine.running())
  results[2] = coroutine.resume(outer)
  results[3] = coroutine.status(outer)
  return results
end
local function middle() --:middle
  local co = coroutine.create(probe)
  local _, results = coroutine.resume(co)
  results[4] = coroutine.status(co)
  results[5] = coroutine.resume(co)
  return results
end
local out
for i = 1, 60 do
  outer = coroutine.create(middle)
  local _, results = coroutine.resume(outer)
  results[6] = coroutine.resume(outer)
  out = results
end
local wrap = coroutine.wrap(function() end) --:empty
wrap()
print(pcall(wrap))
print(pcall(coroutine.resume, 1))
for i = 1, 6 do io.write(tostring(out[i]), " ") end
print()
