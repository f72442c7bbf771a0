-- SPDX-License-Identifier: MIT
-- LZ77 with a hash of triples, and back again; then the lengths of the tokens' Huffman codes.
-- bench: size=200000 small=1500
local n = tonumber((...)) or 200000

local function text()
  local words, seed, out = {}, 5, {}
  for w in ("the quick brown fox jumps over a lazy dog and then some"):gmatch("%a+") do
    words[#words + 1] = w
  end
  local size = 0
  while size < n do
    seed = (seed * 48271) % 2147483647
    local word = words[seed % #words + 1]
    out[#out + 1] = word
    size = size + #word + 1
  end
  return table.concat(out, " ")
end

local function match_length(input, a, b)
  local length = 0
  while length < 255 and b + length <= #input and
        input:byte(a + length) == input:byte(b + length) do
    length = length + 1
  end
  return length
end

-- Tokens: a byte, or {distance, length}.
local function deflate(input)
  local last, tokens, at = {}, {}, 1
  while at <= #input do
    local key = input:sub(at, at + 2)
    local before = last[key]
    local length = before and match_length(input, before, at) or 0
    last[key] = at
    if length >= 3 then
      tokens[#tokens + 1] = {at - before, length}
      at = at + length
    else
      tokens[#tokens + 1] = input:byte(at)
      at = at + 1
    end
  end
  return tokens
end

local function inflate(tokens)
  local out, size = {}, 0
  for _, token in ipairs(tokens) do
    if type(token) == "number" then
      size = size + 1
      out[size] = string.char(token)
    else
      for _ = 1, token[2] do
        size = size + 1
        out[size] = out[size - token[1]]
      end
    end
  end
  return table.concat(out)
end

local function histogram(tokens)
  local counts = {}
  for _, token in ipairs(tokens) do
    local symbol = type(token) == "number" and token or 256 + token[2]
    counts[symbol] = (counts[symbol] or 0) + 1
  end
  return counts
end

-- Sum over the tokens of the length of their Huffman codes.
local function huffman_bits(counts)
  local forest, bits = {}, 0
  for symbol, count in pairs(counts) do forest[#forest + 1] = {count = count, symbol = symbol} end
  while #forest > 1 do
    table.sort(forest, function(a, b)
      return a.count > b.count or (a.count == b.count and a.symbol > b.symbol)
    end)
    local a, b = table.remove(forest), table.remove(forest)
    bits = bits + a.count + b.count
    forest[#forest + 1] = {count = a.count + b.count, symbol = math.min(a.symbol, b.symbol)}
  end
  return bits
end

local input = text()
local tokens = deflate(input)
assert(inflate(tokens) == input)
print(#input, #tokens, huffman_bits(histogram(tokens)))
