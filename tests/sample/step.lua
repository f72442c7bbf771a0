-- SPDX-License-Identifier: MIT
-- Runs the program below while each of its machine instructions is looked at (step.c). Each function
-- stores the line of its definition when it begins, and removes it when it ends: ENTER and LEAVE are
-- replaced by code, so that no other function is called for that.
local ffi = require("ffi")
ffi.cdef [[
typedef struct { int32_t n, id[500]; } shadow;
typedef struct { int32_t depth, moving, unwinding, unused; shadow *other; shadow *chain[64]; } truth;
void stepenter(int line);
void stepleave(void);
int qsort(void *base, size_t n, size_t size, int (*compare)(const int *, const int *));
]]

local source = io.open("step_program.lua"):read("*a")
local lines, number = {}, 0
for line in source:gmatch("([^\n]*)\n") do
  number = number + 1
  -- By FFI the call is compiled, too. Stores by FFI would not do: the compiler omits some of them.
  local via = jit.status() and "ffi.C.step" or "host."
  line = line:gsub("ENTER", via .. ("enter(%d)"):format(number)):gsub("LEAVE", via .. "leave()")
  lines[number] = line
end
local T = ffi.cast("truth *", truth_address)
local keep = {}
local function new_shadow()
  local s = ffi.new("shadow")
  keep[#keep + 1] = s
  return s
end
T.chain[0] = new_shadow()
local program = assert(loadstring(table.concat(lines, "\n"), chunk_name))
program(T, new_shadow, ffi)
