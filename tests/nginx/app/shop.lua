-- SPDX-License-Identifier: MIT
-- The application that the attach and load tests trace. It does what code in an
-- nginx does: cosockets to itself on loopback in light threads, JSON by
-- lua-cjson, coroutines as generators, sorting with closures, errors that are
-- caught, timers, shared dictionaries. Each answer can be checked from outside:
-- see expected_total in check.lua.
local cjson = require "cjson"
local http = require "http"

local shop = {}
local port
local rows_per_page = 12

function shop.init(listen_port)
  port = listen_port
end

local function count(key, step)
  ngx.shared.counters:incr(key, step or 1, 0)
end

local function tick(premature)
  if not premature then count("ticks") end
end

function shop.start_worker()
  assert(ngx.timer.every(0.05, tick))
end

function shop.check_access()
  local n = tonumber(ngx.var.arg_n)
  if not n then return ngx.exit(ngx.HTTP_BAD_REQUEST) end
  ngx.ctx.n = n
end

-- The response of /items: prices that follow from n and the row.
local function price_of(n, row)
  return (n * 7 + row * 13) % 100
end

local function make_item(n, row)
  return {id = row, name = ("item %d of %d"):format(row, n), price = price_of(n, row), tags = {"new", "red"}}
end

function shop.items()
  local n = tonumber(ngx.var.arg_n)
  local list = {}
  for row = 1, rows_per_page do list[row] = make_item(n, row) end
  local body = cjson.encode {n = n, items = list}
  ngx.header["Content-Length"] = #body
  ngx.print(body)
end

-- Two light threads, each with a cosocket of its own.
local function fetch(n)
  local status, body = http.new("127.0.0.1", port):get("/items?n=" .. n)
  assert(status == 200, "status of /items")
  return cjson.decode(body)
end

local function fetch_both(n)
  local first, second = ngx.thread.spawn(fetch, n), ngx.thread.spawn(fetch, n + 1)
  local ok_a, a = ngx.thread.wait(first)
  local ok_b, b = ngx.thread.wait(second)
  assert(ok_a and ok_b, "a light thread failed")
  return a, b
end

-- A generator: walks the rows of several lists.
local function rows_of(...)
  local lists = {...}
  return coroutine.wrap(function()
    for _, list in ipairs(lists) do
      for _, item in ipairs(list.items) do coroutine.yield(item) end
    end
  end)
end

local function escape(text)
  return (text:gsub("[<>&]", {["<"] = "&lt;", [">"] = "&gt;", ["&"] = "&amp;"}))
end

local function render_row(item)
  return "<li>" .. escape(item.name) .. ": " .. tostring(item.price) .. "</li>"
end

-- Odd rows are out of stock: an error, caught by its caller.
local function must_be_in_stock(item)
  if item.id % 2 == 1 then error({code = "sold out", id = item.id}) end
  return item
end

local function render(...)
  local total, lines, in_stock = 0, {}, {}
  for item in rows_of(...) do
    local ok, result = pcall(must_be_in_stock, item)
    if ok then in_stock[#in_stock + 1] = result end
  end
  table.sort(in_stock, function(x, y)
    if x.price ~= y.price then return x.price > y.price end
    return x.name < y.name
  end)
  for index, item in ipairs(in_stock) do
    total = total + item.price
    lines[index] = render_row(item)
  end
  return table.concat(lines, "\n"), total
end

local function answer(n, page, total)
  local body = ("<ul>\n%s\n</ul>\nn=%d total=%d\n"):format(page, n, total)
  ngx.header["Content-Length"] = #body
  ngx.print(body)
end

function shop.page()
  local n = ngx.ctx.n
  local first, second = fetch_both(n)
  local page, total = render(first, second)
  answer(n, page, total)
  if n % 20 == 0 then ngx.timer.at(0, tick) end
end

function shop.render_only()
  local n = tonumber(ngx.var.arg_n)
  local lists = {{items = {}}, {items = {}}}
  for row = 1, rows_per_page do
    lists[1].items[row] = make_item(n, row)
    lists[2].items[row] = make_item(n + 1, row)
  end
  answer(n, render(lists[1], lists[2]))
end

function shop.log()
  count("requests")
end

function shop.stats()
  ngx.say(cjson.encode {
    pid = ngx.worker.pid(), requests = ngx.shared.counters:get("requests") or 0,
    ticks = ngx.shared.counters:get("ticks") or 0, lua_kb = collectgarbage("count"),
  })
end

function shop.spin()
  local x = 0
  for i = 1, tonumber(ngx.var.arg_n) do x = (x + i) % 1000003 end
  ngx.say(x)
end

return shop
