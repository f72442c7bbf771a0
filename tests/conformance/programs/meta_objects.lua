-- SPDX-License-Identifier: MIT
-- Classes with inheritance: method calls found through three __index tables.
local Animal = {}
Animal.__index = Animal
function Animal.new(class, name) --:new
  return setmetatable({ name = name, steps = 0 }, class)
end
function Animal:walk(n) --:walk
  self.steps = self.steps + n
  return self
end
function Animal:speak() return "..." end --:speak
local Dog = setmetatable({}, { __index = Animal })
Dog.__index = Dog
function Dog:speak() --:dog
  return Animal.speak(self) .. "wuff"
end
local Puppy = setmetatable({}, { __index = Dog })
Puppy.__index = Puppy
function Puppy:walk(n) --:puppywalk
  return Dog.walk(self, n / 2)
end
local steps, noise = 0, 0
for i = 1, 120 do
  local d, p = Animal.new(Dog, "d"), Animal.new(Puppy, "p")
  d:walk(2):walk(4)
  p:walk(2)
  noise = noise + #d:speak() + #p:speak()
  steps = steps + d.steps + p.steps
end
print(steps, noise)
