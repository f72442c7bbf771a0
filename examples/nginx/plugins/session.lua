-- SPDX-License-Identifier: MIT
-- Asks another server who the user is: a plugin that waits.
local session = {}

local function ask(socket)
  assert(socket:connect("127.0.0.1", 8085))
  assert(socket:send("GET /session HTTP/1.0\r\nHost: localhost\r\n\r\n"))
  return assert(socket:receive("*a"))
end

function session.check()
  local socket = ngx.socket.tcp()
  local answer = ask(socket)
  socket:close()
  if not answer:find("known", 1, true) then return ngx.exit(ngx.HTTP_FORBIDDEN) end
end

return session
