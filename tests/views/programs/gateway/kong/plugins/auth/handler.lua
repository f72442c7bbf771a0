-- SPDX-License-Identifier: MIT
-- Fetches a key in a light thread whose function is no plugin's, and uses what another plugin offers.
local auth = {}

function auth.access(core)
  core.spawn(core.fetch)
  coroutine.yield()
  core.work(100)
end

function auth.log(core)
  local sum = require("apisix.plugins.limit").count(core)
  return sum
end

return auth
