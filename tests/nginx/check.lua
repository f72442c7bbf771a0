-- SPDX-License-Identifier: MIT
-- For wrk: requests PATH?n=1, 2, 3... and checks every response.
--
--   wrk -t1 -c8 -d5 -s check.lua http://127.0.0.1:PORT/ -- PATH [PAUSE]
--
-- PAUSE: milliseconds that each connection waits between two requests.
-- Last line: "requests=N failed=N errors=N seconds=S". failed: wrong status or
-- wrong content. errors: connections that broke or timed out.
local threads = {}
local path, n = "/page", 0

function setup(thread)
  table.insert(threads, thread)
  thread:set("first", #threads * 1000000)
end

function init(args)
  path = args[1] or path
  n, failed = first, 0
  local pause = tonumber(args[2])
  if pause then
    function delay() return pause end
  end
end

function request()
  n = n + 1
  return wrk.format("GET", path .. "?n=" .. n)
end

-- The correct response of shop.lua: the even rows of n and of n + 1.
local function expected_total(page)
  local total = 0
  for row = 2, 12, 2 do
    total = total + (page * 7 + row * 13) % 100 + ((page + 1) * 7 + row * 13) % 100
  end
  return total
end

function response(status, headers, body)
  local page, total = body:match("n=(%d+) total=(%d+)\n$")
  if status ~= 200 or not page or tonumber(total) ~= expected_total(tonumber(page)) then
    failed = failed + 1
    if failed <= 3 then io.stderr:write("wrong answer, status ", status, ": ", body:sub(1, 300), "\n") end
  end
end

function done(summary)
  local failed, errors = 0, summary.errors
  for _, thread in ipairs(threads) do failed = failed + thread:get("failed") end
  print(("requests=%d failed=%d errors=%d seconds=%.3f"):format(summary.requests, failed,
    errors.connect + errors.read + errors.write + errors.timeout, summary.duration / 1e6))
end
