-- SPDX-License-Identifier: MIT
-- Prints what the machine code of a loop with a call has while the program is recorded: how many
-- stores with release, and reads of the counter.
local util = require("jit.util")

local function inner(a) return a + 1 end
local function outer(n) local s = 0 for i = 1, n do s = s + inner(i) end return s end
outer(1000)
jit.off()

local function word(code, at)
  local a, b, c, d = code:byte(at, at + 3)
  return a + b * 0x100 + c * 0x10000 + d * 0x1000000
end

local releases, reads = 0, 0
for trace = 1, 100 do
  local code = util.traceinfo(trace) and util.tracemc(trace)
  for at = 1, code and #code or 0, 4 do
    local w = word(code, at)
    if w - w % 0x400 == 0xc89ffc00 then releases = releases + 1 end -- stlr xt, [xn]
    if w - w % 0x20 == 0xd53be040 then reads = reads + 1 end -- mrs xt, cntvct_el0
  end
end
print(releases, reads)
