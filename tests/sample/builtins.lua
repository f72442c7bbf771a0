-- SPDX-License-Identifier: MIT
-- Functions that do nothing but one operation, each for the same time.
--   builtins.lua SECONDS N        for each; N times between two looks at the clock
local operations = {
  "s = i ^ 2.5", "s = math.sin(i)", "s = math.log(i)", "s = math.sqrt(i)", "s = math.fmod(i, 3)", "s = math.modf(i / 3)",
  "s = math.floor(i / 3)", "s = math.ceil(i / 3)", "s = math.abs(i)", "s = math.frexp(i)", "s = math.min(i, 4, 7)", "s = next(t)",
  "s = rawget(t, 1)", "s = string.byte('abc', 2)", "s = tonumber('12')", "s = tostring(i)", "s = select(2, i, print)", "s = #t",
  "s = pcall(type, i)", "s = t[i]", "s = 'a' .. i", "s = {}", "s = getmetatable('')", "s = unpack(t)", "s = bit.band(i, 255)",
  "s = assert(print)", "for _, v in ipairs(t) do s = v end", "for k in pairs(t) do s = k end", "s = (-i / 3) % 7.5", "s = i64 / 3", "s = u(i)",
  "c = resume(co)",
}
local seconds = tonumber(arg[1])
for number, code in ipairs(operations) do
  local operation = assert(loadstring([[
    local t, i64, resume = { print, 2, 3, x = 1 }, 5LL, coroutine.resume
    local s, c, co
    local u = function(n) s = n return n end
    co = coroutine.create(function() while true do coroutine.yield() end end)
    return function() for i = 1, ]] .. arg[2] .. [[ do ]] .. code .. " end end", "=operation" .. number))()
  local stop = os.clock() + seconds
  while os.clock() < stop do operation() end
end
