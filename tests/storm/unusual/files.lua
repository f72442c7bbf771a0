-- SPDX-License-Identifier: MIT
-- A daemon's habits: it closes every unknown descriptor, and those that it opens then stay its own,
-- whatever is recorded meanwhile.
local ffi = require("ffi")
ffi.cdef([[int open(const char *, int, ...); int close(int); long read(int, void *, size_t);
int dup2(int, int); int usleep(unsigned);]])
local byte = ffi.new("char[1]")
local C = ffi.C
C.dup2(C.open("/dev/null", 2), 0)
local function closeall() for fd = 3, 255 do C.close(fd) end C.close(0) C.close(2) end
local function open(n)
  local mine = {}
  for i = 1, n do
    mine[i] = C.open("/dev/zero", 0)
    assert(mine[i] >= 0)
  end
  return mine
end
local good, lowest = 0, {}
for round = 1, 150 do
  closeall()
  local mine = open(8)
  lowest[mine[1]] = (lowest[mine[1]] or 0) + 1
  for i = 1, 8 do
    C.usleep(200)
    for _, fd in ipairs(mine) do
      byte[0] = 1
      assert(C.read(fd, byte, 1) == 1 and byte[0] == 0, "a file is another one")
      good = good + 1
    end
  end
  for _, fd in ipairs(mine) do assert(C.close(fd) == 0, "a file was closed") end
end
for fd, n in pairs(lowest) do print("lowest", fd, n) end
print(good)
