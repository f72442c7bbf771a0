-- SPDX-License-Identifier: MIT
-- A hook and a recording that begin in a finalizer or in a handler of the VM's events see what comes after.
local trace = require "luatrace"
local check = require "check"
local function work(n) return n end

local function in_finalizer(begin)
  getmetatable(newproxy(true)).__gc = begin
  collectgarbage()
end
local function in_handler(begin)
  local first = true
  local function handler()
    if first then begin() end
    first = false
  end
  jit.attach(handler, "bc")
  assert(loadstring("return 1"))
  jit.attach(handler)
end

for _, mode in ipairs { "off", "on" } do
  jit[mode]()
  for where, call in pairs { finalizer = in_finalizer, handler = in_handler } do
    local trees, unhook = 0, nil
    call(function() unhook = trace.hook(work, function() trees = trees + 1 end) end)
    for i = 1, 1000 do work(i) end
    check.equal(("trees, hook set in a %s, jit %s"):format(where, mode), trees, 1000)
    unhook()
    call(function() assert(trace.start()) end)
    for i = 1, 1000 do work(i) end
    assert(trace.stop())
    check.equal(("calls, start in a %s, jit %s"):format(where, mode), check.row(trace.report(), "work").calls, 1000)
  end
end
