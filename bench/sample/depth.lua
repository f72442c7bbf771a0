-- SPDX-License-Identifier: MIT
-- Uses the processor at the bottom of a stack of DEPTH Lua functions:
--   depth.lua interpreter|compiled|C DEPTH SECONDS
local kind, depth, seconds = arg[1], tonumber(arg[2]), tonumber(arg[3])
local clock, gsub = os.clock, string.gsub
local text = ("abcdefgh"):rep(2000)

local function work()
  local sum = 0
  for i = 1, 20000 do sum = (sum * 7 + i) % 1000003 end
  return sum
end

local function leaf()
  local till, n = clock() + seconds, 0
  repeat
    if kind == "C" then gsub(text, "[xyz]", "") else work() end
    n = n + 1
  until clock() >= till
  return n
end

-- Not a tail call: each of them is in the stack.
local function nested(k)
  local n = k > 2 and nested(k - 1) or leaf()
  return n
end

if kind ~= "compiled" then jit.off() end
print(nested(depth))
