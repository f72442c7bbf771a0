-- SPDX-License-Identifier: MIT
-- Simulation with objects: methods, inheritance, observers as closures.
-- bench: size=3000 small=10
local n = tonumber((...)) or 3000

local Vehicle = {}
Vehicle.__index = Vehicle
function Vehicle.new(class, x, speed)
  return setmetatable({x = x, speed = speed, trips = 0, listeners = {}}, class)
end
function Vehicle:on_wrap(listener) self.listeners[#self.listeners + 1] = listener end
function Vehicle:limit() return 5 end
function Vehicle:accelerate(by)
  local speed = self.speed + by
  if speed > self:limit() then speed = self:limit() elseif speed < 0 then speed = 0 end
  self.speed = speed
end
function Vehicle:advance(road)
  self.x = self.x + self.speed
  if self.x >= road.length then
    self.x = self.x - road.length
    self.trips = self.trips + 1
    for i = 1, #self.listeners do self.listeners[i](self, road) end
  end
end

local Truck = setmetatable({}, {__index = Vehicle})
Truck.__index = Truck
function Truck:limit() return 3 end

local Road = {}
Road.__index = Road
function Road.new(length) return setmetatable({length = length, vehicles = {}, tolls = 0}, Road) end
function Road:gap(i)
  local vehicles = self.vehicles
  local ahead = vehicles[i % #vehicles + 1]
  local gap = ahead.x - vehicles[i].x
  return gap < 0 and gap + self.length or gap
end
function Road:step()
  local vehicles = self.vehicles
  for i = 1, #vehicles do
    local v = vehicles[i]
    if self:gap(i) < 2 * v.speed then v:accelerate(-1) else v:accelerate(0.5) end
    v:advance(self)
  end
end

local function toll(price)
  local count = 0
  return function(_, road)
    count = count + 1
    road.tolls = road.tolls + price + count % 3
  end
end

local road = Road.new(500)
for i = 1, 60 do
  local class = i % 3 == 0 and Truck or Vehicle
  local v = Vehicle.new(class, i * 8, 1 + i % 2)
  v:on_wrap(toll(i % 5))
  road.vehicles[i] = v
end
for _ = 1, n do road:step() end
local sum = 0
for _, v in ipairs(road.vehicles) do sum = sum + v.x * v.speed + v.trips end
print(road.tolls, string.format("%.3f", sum))
