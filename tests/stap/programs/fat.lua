-- SPDX-License-Identifier: MIT
-- fat.lua N: N calls; ends with much memory, so that the kernel is busy before it reports the end.
local ffi = require "ffi"
local size = 300 * 1024 * 1024
local memory = ffi.new("char[?]", size)
ffi.fill(memory, size, 1)
local function one(x) return x end
for i = 1, tonumber(arg[1]) do one(i) end
os.exit(0)
