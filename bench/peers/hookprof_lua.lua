-- SPDX-License-Identifier: MIT
-- A peer for comparison: a profiler in Lua on debug.sethook that records calls
-- and inclusive time per function, with one stack per coroutine. C functions
-- never report their end to a hook: they are only counted. Neither do tail
-- calls: a return removes everything above its function.
local M = {}
local clock, getinfo, running = os.clock, debug.getinfo, coroutine.running
local stacks, functions, calls

local function stack_of(co)
  local stack = stacks[co]
  if not stack then
    stack = {depth = 0, funcs = {}, starts = {}}
    stacks[co] = stack
  end
  return stack
end

local function on_call(stack, func, now)
  calls = calls + 1
  local entry = functions[func]
  if not entry then
    entry = {calls = 0, time = 0, is_c = getinfo(func, "S").what == "C"}
    functions[func] = entry
  end
  entry.calls = entry.calls + 1
  if entry.is_c then return end
  local depth = stack.depth + 1
  stack.depth, stack.funcs[depth], stack.starts[depth] = depth, func, now
end

local function on_return(stack, func, now)
  local funcs, depth = stack.funcs, stack.depth
  while depth > 0 and funcs[depth] ~= func do depth = depth - 1 end
  if depth == 0 then return end
  local entry = functions[func]
  entry.time = entry.time + now - stack.starts[depth]
  stack.depth = depth - 1
end

local function hook(event)
  local now, func = clock(), getinfo(2, "f").func
  local stack = stack_of(running() or "main")
  if event == "return" then on_return(stack, func, now) else on_call(stack, func, now) end
end

function M.start()
  stacks, functions, calls = {}, {}, 0
  debug.sethook(hook, "cr")
end

-- Returns the number of calls seen.
function M.stop()
  debug.sethook()
  return calls
end

return M
