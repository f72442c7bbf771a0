-- SPDX-License-Identifier: MIT
-- Adds up a cart: a plugin that computes. Every fiftieth cart is large, and the worker's other
-- requests wait for it.
local prices = {}
local carts = 0

local function rows_of_cart()
  carts = carts + 1
  local rows = {}
  for i = 1, carts % 50 == 0 and 4000 or 20 do rows[i] = {id = i, price = i * 7919 % 10000} end
  return rows
end

local function format_price(cents)
  return ("%d.%02d"):format(cents / 100, cents % 100)
end

local function render_row(row)
  return row.id .. ": " .. format_price(row.price)
end

function prices.render()
  local rows = rows_of_cart()
  table.sort(rows, function(a, b) return a.price > b.price end)
  local lines, total = {}, 0
  for i, row in ipairs(rows) do
    lines[i] = render_row(row)
    total = total + row.price
  end
  ngx.say(table.concat(lines, "\n"), "\ntotal ", format_price(total))
end

return prices
