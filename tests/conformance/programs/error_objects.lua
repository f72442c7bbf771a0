-- SPDX-License-Identifier: MIT
-- Error values of every type, with and without position.
local function throw(v, level) error(v, level) end --:throw
local mt = { __tostring = function() return "object" end } --:str
local object = setmetatable({}, mt)
local out = {}
local function try(...) --:try
  local ok, e = pcall(throw, ...)
  out[#out + 1] = tostring(e)
end
for i = 1, 40 do
  try("text", 0)
  try("level", 1)
  try("level", 2)
  try(nil)
  try(42)
  try(object)
  try(true)
end
print(#out, out[1], out[4], out[5], out[6], out[7])
