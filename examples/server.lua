-- SPDX-License-Identifier: MIT
--
-- A server in one process: requests are coroutines, a scheduler runs them, two
-- plugins do the work. The example of docs/cookbook.md.
--
--   luajit examples/server.lua [REQUESTS] [slow]     default 300
--
-- With `slow` the cache searches its keys one by one instead of in a table, which
-- is the problem that the cookbook finds.
--
-- Invariant: the printed checksum depends on REQUESTS alone.
local requests, slow = tonumber(arg and arg[1]) or 300, arg and arg[2] == "slow"

local auth, cache = {}, {}

function auth.digest(text)
  local sum = 5381
  for i = 1, #text do sum = (sum * 33 + text:byte(i)) % 4294967296 end
  return sum
end
function auth.check(request)
  local sum = 0
  for round = 1, 20 do sum = sum + auth.digest(request.user .. round) end
  return sum % 97 ~= 1000
end

local keys, values = {}, {}
function cache.find(key)
  if not slow then return values[key] end
  for i = 1, #keys do
    if keys[i] == key then return values[key] end
  end
end
function cache.fetch(key, make)
  local value = cache.find(key)
  if value == nil then
    value = make(key)
    keys[#keys + 1], values[key] = key, value
  end
  return value
end

local function wait(what) return coroutine.yield(what) end
local function render(key) return ("<p>%s</p>"):rep(20):format(unpack((function()
  local list = {}
  for i = 1, 20 do list[i] = key .. i end
  return list
end)())) end

local function handle(request)
  if not auth.check(request) then return 0 end
  wait("body")
  local page = cache.fetch(request.path, render)
  wait("write")
  return #page + auth.digest(page)
end

-- A coroutine's outermost function has no name in a trace; the functions that it calls have one.
local function serve(request)
  local sent = handle(request)
  return sent
end

local function run(all)
  local sum, alive = 0, #all
  while alive > 0 do
    for i = 1, #all do
      local co = all[i]
      if co then
        local good, value = coroutine.resume(co.thread, co.request)
        assert(good, value)
        if coroutine.status(co.thread) == "dead" then
          sum = (sum + value) % 4294967296
          all[i] = false
          alive = alive - 1
        end
      end
    end
  end
  return sum
end

local all = {}
for i = 1, requests do
  all[i] = { thread = coroutine.create(serve), request = { user = "user" .. i, path = "/page/" .. i % 200 } }
end
print(run(all))
