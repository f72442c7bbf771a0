-- SPDX-License-Identifier: MIT
-- C calls Lua by FFI callbacks: nested ones, too, with errors that are caught, with coroutines.
local ffi = require("ffi")
ffi.cdef("void qsort(void *, size_t, size_t, int (*)(const int *, const int *));")
local n = 40
local outer, inner = ffi.new("int[?]", n), ffi.new("int[?]", 8)
local made = 0
local function compare(a, b) return a[0] - b[0] end
local function fill(array, size, seed) for i = 0, size - 1 do array[i] = (i * 7919 + seed) % 101 end end
local function garbage(i) made = made + #{tostring(i), {}} end
local simple = ffi.cast("int (*)(const int *, const int *)", compare)
local nested = ffi.cast("int (*)(const int *, const int *)", function(a, b)
  garbage(a[0])
  if (a[0] + b[0]) % 29 == 0 then
    fill(inner, 8, a[0])
    ffi.C.qsort(inner, 8, 4, simple)
    assert(not pcall(error, "caught"))
  end
  local co = coroutine.wrap(function(x, y) coroutine.yield(x) return compare(x, y) end)
  co(a, b)
  return co()
end)
local function sort(array, size, by) ffi.C.qsort(array, size, 4, by) end
jit.off(sort)
local sum = 0
for round = 1, 900 do
  fill(outer, n, round)
  sort(outer, n, round % 3 == 0 and nested or simple)
  for i = 1, n - 1 do assert(outer[i - 1] <= outer[i]) end
  sum = sum + outer[0] + outer[n - 1] + inner[7]
end
simple:free()  -- it may run a thousand times in one process
nested:free()
print(sum, made)
