-- SPDX-License-Identifier: MIT
-- Loops on one line and on several, of each kind. With "hook": how often a line hook sees each line. With
-- "count": while a count hook is called all the time.
local lines = {} if arg[1] == "count" then debug.sethook(function() local n = 0 n = n + 1 end, "", 2) end
if arg[1] == "hook" then
  debug.sethook(function(_, line)
    local f = debug.getinfo(2, "f").func
    if f == loops or f == loops_below then lines[line] = (lines[line] or 0) + 1 end
  end, "l")
end
function loops(list)
  local sum, n = 0, 7
  for i = 1, 10 do sum = sum + i % 7 end
  while n > 0 do n = n - 1 end
  for _, v in ipairs(list) do sum = sum + v end
  for k, v in pairs(list) do sum = sum + k + v end
  repeat n = n + 1 until n == 5
  for i = 1, 3 do local f = function() return i end sum = sum + f() end
  repeat sum = sum + 1
  until sum % 10 == 0 sum = sum + 1
  for i = 1, 3 do for j = 1, 4 do if j == 3 then break end sum = sum + i * j end end
  for _, v in ipairs(list) do
    sum = sum + v
  end
  for k, v in pairs(list) do
    sum = sum + k + v
  end
  for i = 1, 3 do
    sum = sum + i
  end
  return sum
end
function loops_below(n) while n > 0 do
    n = n - 1
  end
end
loops({ 1, 2, 3, 4 })
loops_below(5)
debug.sethook()
for line = 12, 35 do
  if lines[line] then print(line, lines[line]) end
end
