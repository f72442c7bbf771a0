-- SPDX-License-Identifier: MIT
-- Functions of several chunks that call one another, for filters by chunk: tail calls, errors, coroutines and
-- callbacks from one into the other. Nothing is collected meanwhile: when that happens differs from run to run.
collectgarbage("stop")
local function load_as(name, code) return assert(loadstring(code, "@" .. name)) end
local a = load_as("plugins/a.lua", [[
local M = {}
function M.twice(f, x) return f(f(x)) end
function M.fail(x) if x > 3 then error("no") end return x end
function M.gen(n) return coroutine.wrap(function() for i = 1, n do coroutine.yield(i) end end) end
function M.deep(n, f) if n == 0 then return f() end return (M.deep(n - 1, f)) end
return M]])()
local b = load_as("core/b.lua", [[
local a = ...
local M = {}
function M.inc(x) return x + 1 end
function M.try(x) return pcall(a.fail, x) end
function M.sum(n) local s = 0 for i in a.gen(n) do s = s + M.inc(i) end return s end
function M.tail(x) return a.twice(M.inc, x) end
function M.raise() error({}) end
return M]])(a)
for i = 1, 200 do
  b.tail(i) b.try(i % 7) b.sum(i % 5)
  pcall(a.deep, i % 20, b.raise)
  table.sort({3, 1, 2}, function(x, y) return x < y end)
  string.rep("x", 3) tostring(i)
end
