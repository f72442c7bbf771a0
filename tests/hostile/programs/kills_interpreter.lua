-- SPDX-License-Identifier: MIT
-- Interpreted, allocates nothing, calls nothing: only what comes through the dispatch table is seen.
jit.off()
local n = 0
while true do n = n + 1 end
