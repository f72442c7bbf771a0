-- SPDX-License-Identifier: MIT
-- Lua functions called from C through ffi.cast, nested and with other calls in them.
local ffi = require("ffi")
ffi.cdef("void qsort(void *base, size_t n, size_t size, int (*cmp)(const int *, const int *));")
local function order(a, b) return a - b end --:order
local function compare(a, b) --:compare
  return order(a[0], b[0])
end
local callback = ffi.cast("int (*)(const int *, const int *)", compare)
local function sort(a, b) --:sort
  local t = ffi.new("int[2]", a, b)
  ffi.C.qsort(t, 2, 4, callback)
  return t[0]
end
jit.off(sort)
local direct = ffi.cast("int (*)(int)", function(x) --:direct
  return x + 1
end)
local function through(x) --:through
  return direct(x) + 0
end
jit.off(through)
local sum = 0
for i = 1, 60 do sum = sum + sort(5, i) + through(i) end
callback:free()
direct:free()
print(sum)
