-- SPDX-License-Identifier: MIT
-- An error that nobody catches: all calls are unwound, the status is 1.
local function c(n) --:c
  if n == 80 then error("uncaught") end
  return n
end
local function b(n) return c(n) + 1 end --:b
local function a() --:a
  for i = 1, 100 do b(i) end
end
a()
