-- SPDX-License-Identifier: MIT
-- Methods of a userdata, C functions with and without recorder handler.
local function write(f, s) --:write
  f:write(s)
end
local f = assert(io.tmpfile())
for i = 1, 80 do write(f, "line\n") end
f:seek("set")
local n = 0
for line in f:lines() do n = n + #line end
f:close()
io.write(n, "\n")
