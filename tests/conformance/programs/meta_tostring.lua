-- SPDX-License-Identifier: MIT
-- __tostring through tostring, string.format and print; __len of a userdata.
local mt = { __tostring = function(self) return "<" .. self.n .. ">" end } --:str
local proxy = newproxy(true)
getmetatable(proxy).__len = function() return 3 end --:len
getmetatable(proxy).__index = function(u, k) return k end --:index
local size = 0
for i = 1, 60 do
  local o = setmetatable({ n = i }, mt)
  size = size + #tostring(o) + #string.format("%s", o) + #proxy + #proxy.name
end
print(setmetatable({ n = 0 }, mt), size)
