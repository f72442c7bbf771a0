-- SPDX-License-Identifier: MIT
-- Functions that differ only in their code: bytecode that was stripped, as by `luajit -b`; chunks
-- whose names differ only after 64 KB, or (the name of a chunk of bytecode is the bytecode, for
-- LuaJIT up to its first NUL) not at all.
local source = [[
local function alpha(x) return x + 1 end
local function beta(x) local s = 0 for i = 1, 100 do s = s + alpha(i) end return s end
local function gamma(...) return beta(...) + beta(...) end
function shown(x) return gamma(x) end
for i = 1, 50 do shown(i) end
]]
local dumped = string.dump(assert(loadstring(source, "@lib.lua")), true)
assert(loadstring(dumped, "@lib.luac"))()
assert(loadstring(dumped, "@lib.luac"))()  -- the same again: other prototypes, the same functions

-- Functions that differ only in what they define inside; and two that do not differ at all, which
-- are one.
local factories = [[
local function counts(f, n) for i = 1, n do f() end end
local function one() return function() return "one" end end
local function two() return function() return "two" end end
counts(one, 31) counts(two, 32)
local same = {}
function same.first() return nil, nil end
function same.second() return nil, nil end
counts(same.first, 33) counts(same.second, 34)
]]
assert(loadstring(string.dump(assert(loadstring(factories, "@factories.lua")), true), "@factories.luac"))()

local body = "local x = ... return x"
local function calls(name, n)
  local f = assert(loadstring(body, name))
  for i = 1, n do f(i) end
end
for calls, text in pairs { [3] = "local a = ... return a", [4] = "local a = ... return not a" } do
  local f = assert(loadstring(string.dump(assert(loadstring(text)), true)))
  for i = 1, calls do f(i) end
end
local long = "=" .. string.rep("x", 70000)
calls(long .. "one", 5)
calls(long .. "two", 6)
