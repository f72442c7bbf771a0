-- SPDX-License-Identifier: MIT
-- Traces thrown away in the middle of a hot loop, from inside a call.
local function inner(i) --:inner
  if i % 90 == 0 then jit.flush() end
  return i
end
local function outer(i) return inner(i) + 1 end --:outer
local sum = 0
for i = 1, 400 do sum = sum + outer(i) end
jit.off()
for i = 1, 80 do sum = sum + outer(i) end
jit.on()
for i = 1, 160 do sum = sum + outer(i) end
print(sum)
