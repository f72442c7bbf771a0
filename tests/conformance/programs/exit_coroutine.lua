-- SPDX-License-Identifier: MIT
-- os.exit inside a coroutine: the calls of both stay open.
local function stop() os.exit(true) end --:stop
local function body() --:body
  coroutine.yield()
  stop()
end
local co = coroutine.wrap(body)
co()
co()
