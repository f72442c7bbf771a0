-- SPDX-License-Identifier: MIT
-- Shortest paths with a binary heap and components by union-find on a random graph.
-- bench: size=6000 small=200
local n = tonumber((...)) or 6000

local Heap = {}
Heap.__index = Heap
function Heap.new() return setmetatable({size = 0, keys = {}, values = {}}, Heap) end
function Heap:push(key, value)
  local keys, values, i = self.keys, self.values, self.size + 1
  self.size = i
  while i > 1 do
    local up = (i - i % 2) / 2
    if keys[up] <= key then break end
    keys[i], values[i] = keys[up], values[up]
    i = up
  end
  keys[i], values[i] = key, value
end
function Heap:sink(key, value)
  local keys, values, size, i = self.keys, self.values, self.size, 1
  while 2 * i <= size do
    local child = 2 * i
    if child < size and keys[child + 1] < keys[child] then child = child + 1 end
    if keys[child] >= key then break end
    keys[i], values[i] = keys[child], values[child]
    i = child
  end
  keys[i], values[i] = key, value
end
function Heap:pop()
  local key, value, last = self.keys[1], self.values[1], self.size
  self.size = last - 1
  if last > 1 then self:sink(self.keys[last], self.values[last]) end
  return key, value
end

local function random_graph()
  local seed, edges = 99, {}
  local function random(limit)
    seed = (seed * 16807) % 2147483647
    return seed % limit + 1
  end
  for i = 1, n do edges[i] = {} end
  for i = 1, n do
    for _ = 1, 4 do
      local to = random(n)
      if to % 10 ~= 0 then edges[i][#edges[i] + 1] = {to = to, weight = random(100)} end
    end
  end
  return edges
end

local function distances(edges, start)
  local dist, heap = {[start] = 0}, Heap.new()
  heap:push(0, start)
  while heap.size > 0 do
    local d, at = heap:pop()
    if d == dist[at] then
      for _, edge in ipairs(edges[at]) do
        local new = d + edge.weight
        if new < (dist[edge.to] or math.huge) then
          dist[edge.to] = new
          heap:push(new, edge.to)
        end
      end
    end
  end
  return dist
end

local function components(edges)
  local parent, count = {}, n
  for i = 1, n do parent[i] = i end
  local function root(i)
    if parent[i] == i then return i end
    parent[i] = root(parent[i])
    return parent[i]
  end
  for from, list in ipairs(edges) do
    for _, edge in ipairs(list) do
      local a, b = root(from), root(edge.to)
      if a ~= b then parent[a], count = b, count - 1 end
    end
  end
  return count
end

local edges = random_graph()
local far, sum = 0, 0
for start = 1, 3 do
  local dist = distances(edges, start)
  for i = 1, n do
    if dist[i] then
      sum = sum + dist[i]
      if dist[i] > far then far = dist[i] end
    end
  end
end
print(components(edges), far, sum)
