-- SPDX-License-Identifier: MIT
-- attach.lua FOLDER: computes until FOLDER/end exists; FOLDER/ready: after the first round.
-- Prints how many rounds had another result than the first, and whether its loop is compiled then.
local folder = ...
local util = require "jit.util"
local function inner(round, i)
  local v = i % 7
  return v + 1
end
local function outer(round)
  local s = 0
  for i = 1, 1000 do
    s = s + inner(round, i)
  end
  return s
end
local function exists(name)
  local f = io.open(folder .. name)
  if f then f:close() end
  return f
end
local function compiled()
  for i = 1, 100 do
    if util.traceinfo(i) then return true end
  end
  return false
end
local first, bad, round = outer(0), 0, 0
io.open(folder .. "/ready", "w"):close()
repeat
  round = round + 1
  if outer(round) ~= first then bad = bad + 1 end
until exists("/end")
for i = 1, 200 do outer(i) end
local blacklisted = 0
for _, f in ipairs { inner, outer } do
  for pc = 0, 100 do
    local ins = util.funcbc(f, pc)
    if not ins then break end
    local name = require("jit.vmdef").bcnames:sub(6 * (ins % 256) + 1, 6 * (ins % 256) + 6)
    if name:match("^I[FL]") then blacklisted = blacklisted + 1 end
  end
end
print(bad, compiled(), blacklisted)
