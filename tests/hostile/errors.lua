-- SPDX-License-Identifier: MIT
-- Caught errors above frames of functions that have no events.
local function deep(n, errors)
  if n == 0 then
    for i = 1, errors do pcall(error, i, 0) end
    return 0
  end
  return (deep(n - 1, errors))
end
deep(tonumber(arg[1]), tonumber(arg[2]))
