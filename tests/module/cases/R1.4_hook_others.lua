-- SPDX-License-Identifier: MIT
-- hook() beside others: the program's debug hook is called as often as without it, and its trees do
-- not depend on what a recording leaves out.
local trace, check = require "luatrace", require "check"
local function leaf(n) return n + 1 end
local function outer(n)
  local sum = 0
  for i = 1, n do sum = leaf(sum + i) end
  return sum
end
local function fails(n)
  outer(n)
  error("outer")
end

-- Debug hooks: how often each event came.
jit.off()
local function events(mask, count)
  local seen = {}
  debug.sethook(function(event) seen[event] = (seen[event] or 0) + 1 end, mask, count)
  for _ = 1, 1000 do leaf(1) end
  debug.sethook()
  return ("%d %d %d %d"):format(seen.count or 0, seen.line or 0, seen.call or 0, seen["return"] or 0)
end
for _, how in ipairs { { "", 100 }, { "", 1 }, { "l", 100 }, { "c", 0 }, { "r", 0 }, { "crl", 7 } } do
  local plain = events(how[1], how[2])
  for _, hooked in ipairs { leaf, outer } do
    local unhook = assert(trace.hook(hooked, function(tree) return #tree.children end))
    check.equal("events of " .. how[1] .. how[2], events(how[1], how[2]), plain)
    assert(unhook())
  end
end
jit.on()

-- A callback may set or remove the program's hook.
local set = function() end
local unhook = assert(trace.hook(leaf, function() debug.sethook(set, "l") end))
leaf(1)
local now = debug.gethook()
assert(unhook())
check.equal("the hook that a callback has set", now, set)
unhook = assert(trace.hook(leaf, function() debug.sethook() end))
leaf(1)
now = debug.gethook()
assert(unhook())
check.equal("the hook that a callback has removed", now, nil)

-- Filters: the trees are the same before, during and after a recording without these functions.
local trees = {}
local function calls(tree)
  local child = tree.children[1]
  return tree.name .. tree.call_count .. (child and "/" .. child.name .. child.call_count or "") .. (tree.error and " error" or "")
end
local first = assert(trace.hook(outer, function(tree) trees[#trees + 1] = calls(tree) end))
local second = assert(trace.hook(fails, function(tree) trees[#trees + 1] = calls(tree) end))
local function trees_of()
  trees = {}
  outer(3)
  pcall(fails, 2)
  return table.concat(trees, ", ")
end
local expected = "outer1/leaf3, outer1/leaf2, fails1/outer1 error"
check.equal("trees without a recording", trees_of(), expected)
for _, filter in ipairs { { exclude = "*R1.4*" }, { include = "nothing*" } } do
  assert(trace.start(filter))
  check.equal("trees in a recording without the functions", trees_of(), expected)
  for _, row in ipairs(assert(trace.report())) do assert(row.name ~= "leaf", "recorded in spite of the filter") end
  assert(trace.stop())
  check.equal("trees after it", trees_of(), expected)
end
assert(first() and second())
