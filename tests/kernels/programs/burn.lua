-- SPDX-License-Identifier: MIT
-- burn.lua SECONDS: works for so long, in work().
local till = os.time() + tonumber(arg[1])
local function work(n) local s = 0 for i = 1, n do s = s + i % 7 end return s end
repeat work(1000) until os.time() >= till
