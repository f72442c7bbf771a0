-- SPDX-License-Identifier: MIT
-- Arithmetic metamethods, one function each, hot.
local mt = {}
local function new(v) return setmetatable({ v = v }, mt) end --:new
function mt.__add(a, b) return new(a.v + b.v) end --:add
function mt.__sub(a, b) return new(a.v - b.v) end --:sub
function mt.__mul(a, b) return new(a.v * b.v % 1000) end --:mul
function mt.__div(a, b) return new(a.v / b.v) end --:div
function mt.__mod(a, b) return new(a.v % b.v) end --:mod
function mt.__pow(a, b) return new(a.v ^ b.v % 1000) end --:pow
function mt.__unm(a) return new(-a.v) end --:unm
local x = new(3)
local y = new(2)
for i = 1, 100 do
  x = x + y
  x = x - y
  x = x * y
  x = x / y
  x = x % new(7)
  x = x ^ y
  x = -x
  x = new(3)
end
print((x + y).v)
