-- SPDX-License-Identifier: MIT
-- debug.traceback, a C function, as handler.
local function deep(n) --:deep
  if n == 0 then error("here") end
  return (deep(n - 1))
end
local size = 0
for i = 1, 30 do
  local ok, trace = xpcall(deep, debug.traceback, 3)
  size = size + (trace:find("stack traceback", 1, true) and 1 or 0)
end
io.write(size, "\n")
