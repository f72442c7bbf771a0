-- SPDX-License-Identifier: MIT
-- Hooks of the program's own, of every kind, and what they see: lines, calls, returns, instructions.
-- As coverage tools do it, without the compiler: compiled code calls no hooks.
jit.off()
local function leaf(x) return x + 1 end
local function calls(n)
  local s = 0
  for i = 1, n do s = s + leaf(i) end
  return s
end
local function tail(n)
  if n == 0 then return leaf(0) end
  return tail(n - 1)
end
local function resumed()
  local co = coroutine.wrap(function() for i = 1, 3 do coroutine.yield(leaf(i)) end end)
  return co() + co() + co()
end
local function caught() return (select(2, pcall(error, "x", 0))) end
local function library() return #string.rep("a", 5) + math.floor(2.5) + #("abc"):gsub("b", "c") end

-- The number of events of each kind while f runs, and the lines in the order of their first event.
local function seen(mask, count, f, ...)
  local n, lines = {}, {}
  debug.sethook(function(what, line)
    n[what] = (n[what] or 0) + 1
    if line and lines[#lines] ~= line then lines[#lines + 1] = line end
  end, mask, count)
  f(...)
  debug.sethook()
  local text = {}
  for _, what in ipairs{"line", "call", "return", "tail return", "count"} do text[#text + 1] = n[what] or 0 end
  return table.concat(text, " ") .. " / " .. table.concat(lines, " ")
end

local wanted, differences = {}, 0
for round = 1, 1500 do
  for k, mask in ipairs{"l", "c", "r", "crl", ""} do
    for j, f in ipairs{calls, tail, resumed, caught, library} do
      local got = seen(mask, mask == "" and 7 or 0, f, 4)
      local key = k * 10 + j
      wanted[key] = wanted[key] or got
      if wanted[key] ~= got then differences = differences + 1 end
    end
  end
end
for k = 1, 5 do for j = 1, 5 do print(k, j, wanted[k * 10 + j]) end end
print("differences", differences)
