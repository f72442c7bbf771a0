-- SPDX-License-Identifier: MIT
-- A small HTTP client on cosockets, with kept connections: the tested application uses it to call
-- itself.
local tcp = ngx.socket.tcp

local client = {}
client.__index = client

function client.new(host, port)
  return setmetatable({host = host, port = port}, client)
end

function client:connect()
  local socket = assert(tcp())
  socket:settimeouts(5000, 5000, 5000)
  assert(socket:connect(self.host, self.port, {pool_size = 64}))
  return socket
end

local function read_headers(socket)
  local headers = {}
  while true do
    local line = assert(socket:receive("*l"))
    if line == "" then return headers end
    local name, value = line:match("^([^:]+):%s*(.*)$")
    if name then headers[name:lower()] = value end
  end
end

local function read_rest(socket, status_line)
  local status = status_line:match("^HTTP/1%.1 (%d+)")
  local headers = read_headers(socket)
  local length = assert(tonumber(headers["content-length"]), "no Content-Length")
  local body = length > 0 and assert(socket:receive(length)) or ""
  return tonumber(status), body, headers
end

-- The other end may have closed a kept connection meanwhile (a worker that was told to exit): then
-- the request is sent again, on another one.
function client:send(request)
  while true do
    local socket = self:connect()
    local kept = socket:getreusedtimes() > 0
    local status_line, why = socket:send(request)
    if status_line then status_line, why = socket:receive("*l") end
    if status_line then return socket, status_line end
    assert(kept, why)
  end
end

function client:get(path)
  local socket, status_line = self:send("GET " .. path .. " HTTP/1.1\r\nHost: " .. self.host .. "\r\n\r\n")
  local status, body, headers = read_rest(socket, status_line)
  if headers.connection == "close" then socket:close() else socket:setkeepalive(10000, 64) end
  return status, body
end

return client
