-- SPDX-License-Identifier: MIT
-- Counts requests for each address: a plugin that costs next to nothing.
local limits = {}
local per_address = 1e9

function limits.check()
  local seen = ngx.shared.counters:get(ngx.var.remote_addr) or 0
  if seen > per_address then return ngx.exit(429) end
end

function limits.count()
  ngx.shared.counters:incr(ngx.var.remote_addr, 1, 0)
end

return limits
