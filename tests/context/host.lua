-- SPDX-License-Identifier: MIT
-- What the host (host.c) calls. It says before and after each switch what is true (truth.c); each
-- function begins and ends with an unknown state.
local truth = require "truth"
local set, unknown = truth.set, 0
local sum = 0

local function work() for i = 1, 2000 do sum = sum + i % 7 end end
local function name(me)
  truth.label("id", tostring(me))
  truth.label("kind", "coroutine " .. me)
end

function labelled(me) name(me); set(me); work(); set(unknown) end
function fails(me) name(me); set(me); work(); set(unknown); error("x") end
function yields(me)
  name(me)
  for i = 1, 3 do
    set(me); work(); set(unknown)
    coroutine.yield()
  end
  set(me); work(); set(unknown)
end

-- A C function that calls Lua in between: another Lua VM, or another coroutine of this one.
local function through(c)
  return function(me)
    name(me); set(me); work(); set(unknown)
    c(me + 1)
    name(me); set(me); work(); set(unknown)
  end
end
in_other_vm = through(call_other_vm)
in_other_coroutine = through(call_other_coroutine)
in_resumed = through(resume_yields)
in_failing = through(call_failing)

-- By a coroutine of the program, by C again.
function deep(me)
  name(me); set(me); work(); set(unknown)
  local co = coroutine.wrap(function()
    in_other_vm(me + 2)
    coroutine.yield()
    in_resumed(me + 4)
    in_other_coroutine(me + 6)
    coroutine.wrap(in_failing)(me + 8)
  end)
  co(); set(me); work(); set(unknown)
  co(); set(me); work(); set(unknown)
end
