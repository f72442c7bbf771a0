-- SPDX-License-Identifier: MIT
-- What nginx does, in Lua: each inline block is a coroutine that the host resumes, or a function that
-- it calls, and light threads run when the block waits. Recorded with --exclude '*host.lua', so that
-- to the recorder the host makes no calls, as nginx makes none.
local folder = arg[0]:match("^(.*)/") or "."
package.path = folder .. "/?.lua"
local gateway = require("lualib.core")
local waiting = {}

-- As ngx.thread.spawn: the coroutine is created here, and resumed by the host.
function gateway.spawn(body) waiting[#waiting + 1] = coroutine.create(body) end

local function run_until_dead(thread)
  repeat
    assert(coroutine.resume(thread))
    while #waiting > 0 do
      local light = waiting[#waiting]
      waiting[#waiting] = nil
      assert(coroutine.resume(light))
    end
  until coroutine.status(thread) == "dead"
end

local function block(code, directive) return assert(loadstring(code, "=" .. directive)) end
local access = block("GATEWAY.run('kong.plugins.auth.handler', 'access')", "access_by_lua(nginx.conf:12)")
local content = block("GATEWAY.run('apisix.plugins.limit', 'content')", "content_by_lua(nginx.conf:20)")
local log = block("GATEWAY.run('kong.plugins.auth.handler', 'log')", "log_by_lua(nginx.conf:30)")

GATEWAY = gateway
for _, name in ipairs({"kong.plugins.auth.handler", "apisix.plugins.limit"}) do gateway.load(name) end
for _ = 1, 10 do
  run_until_dead(coroutine.create(access))
  run_until_dead(coroutine.create(content))
  log()
end
-- A timer: the host creates it, and its function is no block.
for _ = 1, 3 do run_until_dead(coroutine.create(gateway.tick)) end
