-- SPDX-License-Identifier: MIT
-- What all plugins use. Nothing in here belongs to a plugin by its file.
local core = {}
local plugins = {}

function core.load(name) plugins[name] = require(name) end

function core.run(name, phase)
  local result = plugins[name][phase](core)
  return result
end

function core.work(n)
  local sum = 0
  for i = 1, n do sum = sum + i % 7 end
  return sum
end

function core.fetch()
  core.work(1000)
  coroutine.yield()
end

function core.tick() core.work(100) end

return core
