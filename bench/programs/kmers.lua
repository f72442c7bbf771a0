-- SPDX-License-Identifier: MIT
-- Counts the substrings of a random DNA string: interning and string-keyed tables.
-- bench: size=30000 small=2000
local n = tonumber((...)) or 30000

local function sequence(length)
  local letters, seed, out = {"a", "c", "g", "t"}, 42, {}
  for i = 1, length do
    seed = (seed * 3877 + 29573) % 139968
    out[i] = letters[math.floor(seed / 34992) + 1]
  end
  return table.concat(out)
end

local function count(text, width)
  local counts = {}
  for i = 1, #text - width + 1 do
    local kmer = text:sub(i, i + width - 1)
    counts[kmer] = (counts[kmer] or 0) + 1
  end
  return counts
end

local function most_common(counts)
  local keys = {}
  for kmer in pairs(counts) do keys[#keys + 1] = kmer end
  table.sort(keys, function(a, b)
    if counts[a] ~= counts[b] then return counts[a] > counts[b] end
    return a < b
  end)
  return keys[1], counts[keys[1]], #keys
end

local text = sequence(n)
for _, width in ipairs {1, 2, 4, 8, 12} do print(width, most_common(count(text, width))) end
