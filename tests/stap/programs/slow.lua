-- SPDX-License-Identifier: MIT
-- One call that is slow itself, one that is not but waits in a coroutine.
local function nap(n) os.execute("sleep " .. n) end
local function quick(x) return x end
local function middle(n) quick(n); nap(n); return n end
local function waits() quick(1); coroutine.yield(); return quick(2) end
local function start()
  for i = 1, 100 do quick(i) end
  local co = coroutine.wrap(waits)
  co()
  middle(1)
  co()
end
start()
