-- SPDX-License-Identifier: MIT
-- One iteration of a compiled loop in fifty fails, three calls down.
local function c(i) --:c
  if i % 50 == 0 then error("fifty") end
  return i
end
local function b(i) return c(i) + 1 end --:b
local function a(i) return b(i) + 1 end --:a
local function loop(from, to) --:loop
  local s = 0
  for i = from, to do s = s + a(i) end
  return s
end
local from, failed = 1, 0
while from <= 600 do
  local ok, e = pcall(loop, from, from + 49 - (from - 1) % 50)
  failed = failed + (ok and 0 or 1)
  from = from + 50
end
print(failed)
