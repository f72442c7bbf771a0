-- SPDX-License-Identifier: MIT
-- Uses the processor at the bottom of a stack of DEPTH functions, then says for how long, and waits for the end of
-- its input:
--   depth.lua interpreter|compiled|C DEPTH ROUNDS
local kind, depth, rounds = arg[1], tonumber(arg[2]), tonumber(arg[3])
local clock, find = os.clock, string.find
local text = ("abcdefgh"):rep(2000)

local function work()
  local sum = 0
  for i = 1, 20000 do sum = (sum * 7 + i) % 1000003 end
  return sum
end

local function leaf()
  local from = clock()
  for _ = 1, rounds do
    if kind == "C" then find(text, "hgfedcba", 1, true) else work() end
  end
  return clock() - from
end

-- Not a tail call: each of them is in the stack.
local function nested(k)
  local seconds = k > 1 and nested(k - 1) or leaf()
  return seconds
end

if kind ~= "compiled" then jit.off() end
print(("elapsed %.6f"):format(nested(depth - (kind == "C" and 3 or 4))))
io.stdout:flush()
io.read("*a")
