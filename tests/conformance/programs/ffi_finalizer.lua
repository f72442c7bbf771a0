-- SPDX-License-Identifier: MIT
-- ffi.gc finalizers, Lua functions, run inside a full collection.
local ffi = require("ffi")
local freed = 0
local function free(p) freed = freed + 1 end --:free
local function make() --:make
  ffi.gc(ffi.new("int[1]"), free)
end
local function clear(a, b, c, d, e, f, g, h) return h end --:clear
for i = 1, 20 do
  make()
  clear(clear(1, 2, 3, 4, 5, 6, 7, 8), 1, 2, 3, 4, 5, 6, 7, 8)
  collectgarbage()
end
print(freed)
