-- SPDX-License-Identifier: MIT
-- C functions called by FFI under the class ffi: declared ones, by a pointer, as tail calls, with
-- a result that is checked, and one that an error in its callback ends.
local ffi = require("ffi")
ffi.cdef([[
int abs(int);
double sqrt(double);
bool is_terminal(int) __asm__("isatty");
void qsort(void *base, size_t n, size_t size, int (*cmp)(const int *, const int *));
]])
local C = ffi.C
local function negative(x) --:negative
  return (C.abs(-x))
end
local function root(x) --:root
  return C.sqrt(x)
end
local function known(descriptor) --:known
  if C.is_terminal(descriptor) then return 1 end
  return 0
end
local pointer = ffi.cast("int (*)(int)", C.abs)
local function through(x) --:through
  return (pointer(x))
end
local numbers = ffi.new("int[2]", 2, 1)
local function bad(a) --:bad
  return a[0] + nil
end
local compare = ffi.cast("int (*)(const int *, const int *)", bad)
local function sort() --:sort
  C.qsort(numbers, 2, 4, compare)
end
local sum = 0
for i = 1, 100 do
  sum = sum + negative(i) + root(i * i) + known(1000) + through(i)
  if pcall(sort) then sum = -1 end
end
io.write(sum, "\n")
