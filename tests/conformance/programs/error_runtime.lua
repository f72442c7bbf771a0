-- SPDX-License-Identifier: MIT
-- Errors raised by the virtual machine itself.
local zero
local function callnil() local x = zero; return (x()) end --:callnil
local function arith(a) return a + 1 end --:arith
local function index(a) return a.b.c end --:index
local function concat(a) return "x" .. a end --:concat
local function compare(a, b) return a < b end --:compare
local function forinit(a) for i = a, 2 do end end --:forinit
local function setnil(t) t[zero] = 1 end --:setnil
local function through(f, ...) --:through
  local r = f(...)
  return r
end
local bad = 0
local function try(f, ...) --:try
  if not pcall(through, f, ...) then bad = bad + 1 end
end
for i = 1, 60 do
  try(callnil)
  try(arith, nil)
  try(arith, 1)
  try(index, {})
  try(concat, {})
  try(compare, 1, "x")
  try(forinit, "a")
  try(setnil, {})
end
print(bad)
