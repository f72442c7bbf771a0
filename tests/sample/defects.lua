-- SPDX-License-Identifier: MIT
-- What a sampler may get wrong: deep stacks, long chunk names, coroutines that have ended.
--   defects.lua SECONDS_OF_EACH
local clock, seconds = os.clock, tonumber(arg[1])

local function busy()
  local till, x = clock() + seconds, 0
  repeat for i = 1, 1000 do x = x + i % 7 end until clock() >= till
  return x
end

local function deep(n)
  if n == 0 then return 1 + busy() end
  return 1 + deep(n - 1)
end
for _ = 1, 8 do busy() end  -- on a busy machine the recorder finds this process late
deep(120)

local long = assert(loadstring("local busy = ...; local function inside() return 1 + busy() end return 1 + inside()",
  "@" .. ("directory/"):rep(30) .. "file.lua"))
long(busy)

local function ghost() return 1 + busy() end
local function after() return 1 + busy() end
local co = coroutine.create(function() ghost(); coroutine.yield(); return 1 end)
coroutine.resume(co)
after()
coroutine.resume(co)
after()
