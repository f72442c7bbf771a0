-- SPDX-License-Identifier: MIT
local limit = {}

function limit.count(core)
  local sum = core.work(100)
  return sum
end

function limit.content(core)
  local sum = limit.count(core)
  return sum
end

return limit
