-- SPDX-License-Identifier: MIT
-- Interpreted, allocates nothing, calls nothing: polls only through redirected dispatch slots.
jit.off()
local n = 0
while true do n = n + 1 end
