-- SPDX-License-Identifier: MIT
-- Works, and only then loads a library that has another LuaJIT (arg[1]), which works, too.
local function first(seconds)
  local stop = os.clock() + seconds
  while os.clock() < stop do end
end
first(1.5)
local ffi = require "ffi"
ffi.cdef "void *dlopen(const char *, int); void *dlsym(void *, const char *); char *dlerror(void);"
local NOW, DEEPBIND = 2, 8 -- its own LuaJIT, not ours
local library = ffi.C.dlopen(arg[1], NOW + DEEPBIND)
if library == nil then error(ffi.string(ffi.C.dlerror())) end
local runs = ffi.cast("void (*)(const char *)", ffi.C.dlsym(library, "second_runs"))
runs [[
  local function second()
    local stop = os.clock() + 4
    while os.clock() < stop do end
  end
  second()
]]
