-- SPDX-License-Identifier: MIT
-- R2, re-created from its description: a hook in Lua; a function is "file:line"; each coroutine has a call
-- stack of its own, which stands still while another one runs. C functions are left out: LuaJIT
-- calls no hook at their returns.
local M = {}
local clock, running, getinfo = os.clock, coroutine.running, debug.getinfo
local functions, stacks, current, last

local function stack_of(co)
  local stack = stacks[co]
  if not stack then
    stack = {}
    stacks[co] = stack
  end
  return stack
end

-- The time since the last event belongs to the coroutine that ran.
local function pass(now)
  local stack = stack_of(current)
  local seen = {}
  for i, f in ipairs(stack) do
    if not seen[f] then f.inclusive = f.inclusive + (now - last) end
    seen[f] = true
    if i == #stack then f.self = f.self + (now - last) end
  end
end

local function hook(event)
  pass(clock())
  current = running() or "main"
  local info = getinfo(2, "Sn")
  if info.what ~= "C" then
    local stack = stack_of(current)
    if event == "return" then
      stack[#stack] = nil
    else
      if event == "tail call" then stack[#stack] = nil end
      local key = info.short_src .. ":" .. info.linedefined
      local f = functions[key] or { name = info.name or key, file = info.short_src, line = info.linedefined, calls = 0, inclusive = 0, self = 0 }
      functions[key] = f
      f.calls = f.calls + 1
      stack[#stack + 1] = f
    end
  end
  last = clock()
end

function M.start()
  functions, stacks, current = {}, setmetatable({}, { __mode = "k" }), running() or "main"
  last = clock()
  debug.sethook(hook, "cr")
end

function M.stop()
  debug.sethook()
  local rows = {}
  for _, f in pairs(functions) do rows[#rows + 1] = f end
  return rows
end
return M
