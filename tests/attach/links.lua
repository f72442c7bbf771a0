-- SPDX-License-Identifier: MIT
-- For times.sh: two loops in turns. In the end one of them is left in its first iteration, which is not
-- counted, so that each second link has iterations before it.
local n = 0
local function leaf(x) n = n + x end
local function run(times, few)
  for _ = 1, times do
    for _ = 1, few do leaf(2) end
    for _ = 1, 4 do leaf(1) end
  end
end
run(300, 9)
run(100000, 1)
