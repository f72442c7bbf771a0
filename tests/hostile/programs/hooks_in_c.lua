-- SPDX-License-Identifier: MIT
-- Hooks that yield or fail anywhere. Each function counts its own calls: "CALLS number line LINE".
local hooks = require("hooks_module")
local calls = {}
for line = 1, 60 do calls[line] = 0 end
local function plain(x) calls[6] = calls[6] + 1 return x + 1 end
local function tail(x) calls[7] = calls[7] + 1 return plain(x) end
local function several(...) calls[8] = calls[8] + 1 return ... end
local function tail_several(...) calls[9] = calls[9] + 1 return several(...) end
local function none() calls[10] = calls[10] + 1 end
local function to_c(x) calls[11] = calls[11] + 1 return string.format("%d", x) end
local function protected(x) calls[12] = calls[12] + 1 return pcall(plain, x) end
local function caught() calls[13] = calls[13] + 1 return pcall(error, "x") end
local callable = setmetatable({}, {__call = function(_, x) calls[14] = calls[14] + 1 return x end})
local function to_callable(x) calls[15] = calls[15] + 1 return callable(x) end
local generator
local function work()
  calls[17] = calls[17] + 1
  local s = 0
  for i = 1, 4 do
    s = s + plain(i) + tail(i)
    s = s + select("#", tail_several(i, i, i))
    none() to_c(i) protected(i) caught() to_callable(i)
    s = s + (generator() or 0)  -- the hook yields in there, too
  end
  return s
end
-- A hook yields in the middle of counting, too: so it is a counter of its own.
local function product() calls[29] = calls[29] + 1 return 1 end
local function generate() calls[30] = calls[30] + 1 while true do coroutine.yield(product()) end end
generator = coroutine.wrap(generate)

for _, count in ipairs {1, 2, 3, 5, 7, 11} do hooks.yielding(work, "", count) end
hooks.yielding(work, "l", 0)
hooks.yielding(work, "r", 0)
hooks.yielding(work, "l", 3)
local failures = 0
for _, mask in ipairs {"r", "c"} do
  for _, every in ipairs {1, 2, 3, 5, 7, 11, 40} do
    for i = 1, 5 do
      generator = coroutine.wrap(generate)
      local good, failed = hooks.failing(work, mask, every)
      for line, n in pairs(failed) do if calls[line] then calls[line] = calls[line] + n end end
      failures = failures + (good and 0 or 1)
    end
  end
end
print("failures", failures)
for line, n in ipairs(calls) do if n > 0 then print("CALLS " .. n .. " line " .. line) end end
