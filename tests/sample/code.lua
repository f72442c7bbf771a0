-- SPDX-License-Identifier: MIT
-- Two functions that a compiled loop inlines: one has a few instructions, and calls a slow C function of the VM;
-- the other has many. Runs for so many seconds of CPU time.
local function power(i) return i ^ 2.37 end
local function adds(i)
  local a, b, c, d = i, i + 1, i + 2, i + 3
  a, b, c, d = a * b + c, b * c + d, c * d + a, d * a + b
  a, b, c, d = a * b - c, b * c - d, c * d - a, d * a - b
  a, b, c, d = a * b + d, b * c + a, c * d + b, d * a + c
  return a + b + c + d
end
local function loop()
  local x = 0
  for i = 1, 10000 do x = x + power(i) + adds(i) end
  return x
end
local last = os.time() + 100 -- whatever becomes of the test
while os.clock() < tonumber(arg[1]) and os.time() < last do loop() end
