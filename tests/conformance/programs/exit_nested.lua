-- SPDX-License-Identifier: MIT
-- os.exit inside nested calls: they stay open.
local function c() os.exit(3) end --:c
local function b() c() end --:b
local function a(n) --:a
  if n > 0 then return a(n - 1) end
  b()
end
local function plain(i) return i end --:plain
for i = 1, 70 do plain(i) end
a(2)
