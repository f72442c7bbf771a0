-- SPDX-License-Identifier: MIT
local factor = 2
local account = { id = 7, owner = { name = "Ada" }, list = { 1, 2, 3 } }
account.self = account
setmetatable(account, {
  __index = function() error("a metamethod ran") end,
  __eq = function() error("a metamethod ran") end,
  __tostring = function() error("a metamethod ran") end,
})
local function charge(a, amount, ...)
  local total = amount * factor
  return total + select("#", ...)
end
local sum = 0
for i = 1, 2000 do
  sum = sum + charge(account, i % 100, i, "line\n\27[31m")
end
print(sum)
