-- SPDX-License-Identifier: MIT
-- format, gsub with callbacks, find, rep, byte, upper, concat: C functions of the library.
-- bench: size=12000 small=300
local n = tonumber((...)) or 12000

local function line(i)
  return string.format("%05d key_%x = %s; weight %.3f", i, i * 7919, ("v"):rep(i % 9), i / 7)
end

local function swap_words(text)
  return (text:gsub("(%a+)_(%x+)", function(word, hex) return hex .. "_" .. word:upper() end))
end

local function checksum(text)
  local sum = 0
  for i = 1, #text do sum = (sum * 31 + text:byte(i)) % 1000003 end
  return sum
end

local parts, sum = {}, 0
for i = 1, n do
  local text = swap_words(line(i))
  local from, to = text:find("= v*;")
  parts[#parts + 1] = text:sub(from + 2, to - 1) .. text:reverse():sub(1, 5)
  sum = (sum + checksum(text)) % 1000003
end
local all = table.concat(parts, ",")
print(sum, #all, checksum(all))
