-- SPDX-License-Identifier: MIT
-- Planets under gravity: floating point in tables, hardly any calls.
-- bench: size=100000 small=2000
local n = tonumber((...)) or 100000
local sqrt = math.sqrt
local solar_mass = 4 * math.pi ^ 2
local year = 365.24

local function body(mass, x, y, z, vx, vy, vz)
  return {mass = mass * solar_mass, x = x, y = y, z = z,
          vx = vx * year, vy = vy * year, vz = vz * year}
end

local function system()
  return {
    body(1, 0, 0, 0, 0, 0, 0),
    body(9.5e-4, 4.84, -1.16, -0.10, 1.66e-3, 7.70e-3, -6.90e-5),
    body(2.9e-4, 8.34, 4.12, -0.40, -2.77e-3, 4.99e-3, 2.30e-5),
    body(4.4e-5, 12.9, -15.1, -0.22, 2.96e-3, 2.38e-3, -2.96e-5),
    body(5.2e-5, 15.4, -25.9, 0.18, 2.68e-3, 1.63e-3, -9.52e-5),
  }
end

local function attract(a, b, dt)
  local dx, dy, dz = a.x - b.x, a.y - b.y, a.z - b.z
  local d2 = dx * dx + dy * dy + dz * dz
  local f = dt / (d2 * sqrt(d2))
  local fa, fb = b.mass * f, a.mass * f
  a.vx, a.vy, a.vz = a.vx - dx * fa, a.vy - dy * fa, a.vz - dz * fa
  b.vx, b.vy, b.vz = b.vx + dx * fb, b.vy + dy * fb, b.vz + dz * fb
end

local function advance(bodies, steps, dt)
  local count = #bodies
  for _ = 1, steps do
    for i = 1, count do
      local a = bodies[i]
      for j = i + 1, count do attract(a, bodies[j], dt) end
    end
    for i = 1, count do
      local a = bodies[i]
      a.x, a.y, a.z = a.x + dt * a.vx, a.y + dt * a.vy, a.z + dt * a.vz
    end
  end
end

local function kinetic(bodies)
  local e = 0
  for _, b in ipairs(bodies) do e = e + 0.5 * b.mass * (b.vx ^ 2 + b.vy ^ 2 + b.vz ^ 2) end
  return e
end

local bodies = system()
advance(bodies, n, 0.01)
print(string.format("%.9f", kinetic(bodies)))
