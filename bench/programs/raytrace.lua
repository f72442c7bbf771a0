-- SPDX-License-Identifier: MIT
-- Spheres with shadows and mirrors: vectors as short-lived objects with metamethods.
-- bench: size=130 small=12
local n = tonumber((...)) or 130

local Vec = {}
Vec.__index = Vec
local function vec(x, y, z) return setmetatable({x = x, y = y, z = z}, Vec) end
function Vec.__add(a, b) return vec(a.x + b.x, a.y + b.y, a.z + b.z) end
function Vec.__sub(a, b) return vec(a.x - b.x, a.y - b.y, a.z - b.z) end
function Vec.__mul(a, k) return vec(a.x * k, a.y * k, a.z * k) end
function Vec:dot(b) return self.x * b.x + self.y * b.y + self.z * b.z end
function Vec:unit() return self * (1 / math.sqrt(self:dot(self))) end

local Sphere = {}
Sphere.__index = Sphere
function Sphere.new(centre, radius, shade, mirror)
  return setmetatable({centre = centre, r2 = radius * radius, shade = shade, mirror = mirror}, Sphere)
end
-- Distance along the ray to the nearer intersection, or nil.
function Sphere:hit(origin, direction)
  local to = self.centre - origin
  local along = to:dot(direction)
  local d2 = self.r2 - to:dot(to) + along * along
  if d2 < 0 then return nil end
  local t = along - math.sqrt(d2)
  return t > 1e-4 and t or nil
end

local spheres, light = {}, vec(-5, 8, -6)
for i = 0, 7 do
  spheres[#spheres + 1] = Sphere.new(vec(i % 4 * 2 - 3, (i - i % 4) / 2 - 1, 4 + i % 3), 0.9,
                                     0.3 + i / 12, i % 2 == 0 and 0.4 or 0)
end

local function nearest(origin, direction)
  local best, found = math.huge, nil
  for i = 1, #spheres do
    local t = spheres[i]:hit(origin, direction)
    if t and t < best then best, found = t, spheres[i] end
  end
  return found, best
end

local function trace(origin, direction, depth)
  local sphere, t = nearest(origin, direction)
  if not sphere then return 0.1 + 0.1 * direction.y end
  local point = origin + direction * t
  local normal = (point - sphere.centre):unit()
  local to_light = (light - point):unit()
  local bright = nearest(point, to_light) and 0 or math.max(0, normal:dot(to_light))
  local colour = sphere.shade * (0.2 + bright)
  if sphere.mirror > 0 and depth < 3 then
    local mirrored = direction - normal * (2 * direction:dot(normal))
    colour = colour + sphere.mirror * trace(point, mirrored, depth + 1)
  end
  return colour
end

local total = 0
for y = 1, n do
  for x = 1, n do
    total = total + trace(vec(0, 0, -6), vec(2 * x / n - 1, 2 * y / n - 1, 2):unit(), 0)
  end
end
print(string.format("%.6f", total))
