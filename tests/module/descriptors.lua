-- SPDX-License-Identifier: MIT
-- A recording from inside in a program that has few descriptors, or has closed the standard ones.
local trace = require "luatrace"
local mode, result = ...
local function work() end

-- No more files may be opened than the recording has already.
local function allow_none()
  local ffi = require "ffi"
  ffi.cdef "struct limit { unsigned long soft, hard; }; int setrlimit(int, const struct limit *);"
  assert(ffi.C.setrlimit(7, ffi.new("struct limit", 0, 4096)) == 0)
end
local function record()
  assert(trace.start { file = result .. ".bin" })
  for _ = 1, 10 do work() end
  if mode == "none" then allow_none() end
  assert(trace.stop())
end
local ok, why = pcall(record)
os.rename(result .. ".new", result .. (ok and ".good" or ".bad"))
if not ok then error(why) end
