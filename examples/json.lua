-- SPDX-License-Identifier: MIT
--
-- Work for the JSON library in jsonlib.lua; ./scripts/demo records it.
--
--   luajit examples/json.lua [ROUNDS]      default 600: some seconds
--
-- Each round generates a document, encodes it, decodes it from a string and from
-- chunks that arrive one by one, and compares; broken documents must be refused.
--
-- Invariant: the printed checksum depends on ROUNDS alone: not on the JIT
-- compiler, the LuaJIT version, the order of pairs() or the machine.

-- The library is next to this program, wherever that is started from.
local here = arg and arg[0] and arg[0]:match("^(.*/)") or "./"
package.path = here .. "?.lua;" .. package.path
local json = require("jsonlib")

local byte, char, format, sub = string.byte, string.char, string.format, string.sub
local array, equal = json.array, json.equal

-- -- Documents ----------------------------------------------------------------

-- Park and Miller's generator: the same numbers on every machine.
local function generator(seed)
  local state = seed
  return function(low, high)
    state = state * 16807 % 2147483647
    return low + state % (high - low + 1)
  end
end

local syllables = { "an", "bel", "cor", "dra", "el", "fin", "gor", "hul", "ir", "jo", "ka", "lum" }

local function invent_name(random, n)
  if n == 0 then return "" end
  return syllables[random(1, #syllables)] .. invent_name(random, n - 1)
end

local function invent_text(random)
  local parts = {}
  for i = 1, random(2, 6) do parts[i] = invent_name(random, random(1, 3)) end
  local text = table.concat(parts, random(0, 3) == 0 and "\n" or " ")
  return random(0, 4) == 0 and text .. ' "quoted" \\ \1' or text
end

local function invent_line(random)
  return {
    sku = format("%s-%04d", invent_name(random, 2), random(0, 9999)),
    amount = random(1, 20),
    price = random(100, 99999) / 100,
    note = random(0, 2) == 0 and invent_text(random) or json.null,
  }
end

local function invent_tree(random, depth)
  local tree = { name = invent_name(random, 2), children = array() }
  if depth > 0 then
    for _ = 1, random(1, 3) do tree.children:push(invent_tree(random, depth - 1)) end
  end
  return tree
end

local function invent_order(random, id)
  local order = { id = id, paid = random(0, 1) == 1, customer = invent_name(random, 3), lines = array() }
  for _ = 1, random(1, 5) do order.lines:push(invent_line(random)) end
  return order
end

local function invent_document(random)
  local document = { version = 1, title = invent_text(random), orders = array() }
  for id = 1, random(10, 20) do document.orders:push(invent_order(random, id)) end
  document.categories = invent_tree(random, 4)
  return document
end

-- -- The work -----------------------------------------------------------------

-- An iterator over text in chunks of pseudo-random length.
local function pieces(text, random)
  return coroutine.wrap(function()
    local at = 1
    while at <= #text do
      local length = random(40, 400)
      coroutine.yield(sub(text, at, at + length - 1))
      at = at + length
    end
    return nil
  end)
end

-- Text damaged in one place must be refused or still be a document; whatever
-- happens, it must not be an error of the library itself.
local function count_refused(text, random)
  local refused = 0
  for _ = 1, 4 do
    local at = random(1, #text)
    local damaged = sub(text, 1, at - 1) .. char(random(32, 126)) .. sub(text, at + 1)
    local _, problem = json.decode(damaged)
    if problem then refused = refused + 1 end
  end
  return refused
end

-- A checksum of everything that a round has produced; order matters.
local function checksum(text, sum)
  for i = 1, #text, 8 do
    local a, b, c, d = byte(text, i, i + 3)
    sum = (sum * 31 + a + (b or 0) * 7 + (c or 0) * 13 + (d or 0) * 17) % 4294967291
  end
  return sum
end

local function round(random, sum)
  local document = invent_document(random)
  local text = json.encode(document)
  local decoded = assert(json.decode(text))
  assert(equal(document, decoded), "decoded differs")
  assert(equal(decoded, json.decode(pieces(text, random))), "decoded from chunks differs")
  return (checksum(text, sum) + count_refused(text, random)) % 4294967291
end

local function main(argument)
  local rounds = tonumber(argument or "600")
  if not rounds or rounds < 1 or rounds % 1 ~= 0 then
    io.stderr:write("usage: luajit examples/json.lua [ROUNDS]\n")
    return 1
  end
  local random, sum = generator(42), 1
  for _ = 1, rounds do sum = round(random, sum) end
  print(format("%d rounds, checksum %010d", rounds, sum))
  return 0
end

os.exit(main(...), true)
