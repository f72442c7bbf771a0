-- SPDX-License-Identifier: MIT
-- R4, re-created from its description: a hook in Lua; a function is its name and place; the start time of
-- a call is kept with the function, so that there is one.
local M = {}
local clock, getinfo = os.clock, debug.getinfo
local functions

local function hook(event)
  local info = getinfo(2, "nS")
  local key = (info.name or "anonymous") .. " : " .. info.short_src .. ": " .. info.linedefined
  local f = functions[key]
  if not f then
    f = { name = info.name or "anonymous", file = info.short_src, line = math.max(info.linedefined, 0), calls = 0, inclusive = 0, self = 0 }
    functions[key] = f
  end
  if event == "return" then
    if f.began then f.inclusive = f.inclusive + clock() - f.began end
    f.began = nil
  else
    f.calls = f.calls + 1
    f.began = clock()
  end
end

function M.start()
  functions = {}
  debug.sethook(hook, "cr")
end

-- It has no time without callees.
function M.stop()
  debug.sethook()
  local rows = {}
  for _, f in pairs(functions) do rows[#rows + 1] = f end
  return rows
end
return M
