-- SPDX-License-Identifier: MIT
-- N functions that are compiled, called and collected; prints the process's peak memory in KB.
for i = 1, tonumber(arg[1]) do
  local f = loadstring("local function named(x) return x + 1 end local s = named(1) return s")
  f()
end
for line in io.lines("/proc/self/status") do
  local kb = line:match("^VmHWM:%s*(%d+)")
  if kb then print(kb) end
end
