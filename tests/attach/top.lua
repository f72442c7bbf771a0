-- SPDX-License-Identifier: MIT
-- top.lua DIR: works in functions of known names until DIR/end exists. `serve` is called once, and is
-- open all the time.
local dir = arg[1]
local function work()
  local sum = 0
  for i = 1, 100 do sum = sum + i % 7 end
  return sum
end
local function handle()
  for _ = 1, 10 do work() end
end
local function finished()
  local file = io.open(dir .. "/end")
  return file and file:close()
end
local function serve()
  repeat
    for _ = 1, 1000 do handle() end
  until finished()
end
io.open(dir .. "/ready", "w"):close()
serve()
