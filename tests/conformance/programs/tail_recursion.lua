-- SPDX-License-Identifier: MIT
-- A loop written as a tail call, one function and two.
local function loop(n, acc) --:loop
  if n == 0 then return acc end
  return loop(n - 1, acc + n)
end
local pong
local function ping(n) --:ping
  if n == 0 then return "ping" end
  return pong(n - 1)
end
function pong(n) --:pong
  if n == 0 then return "pong" end
  return ping(n - 1)
end
local out = {}
for i = 1, 5 do out[#out + 1] = loop(200 * i, 0) end
for i = 1, 90 do out[#out + 1] = ping(i) end
print(table.concat(out, " "))
