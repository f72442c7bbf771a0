-- SPDX-License-Identifier: MIT
-- A scanner whose states call each other in tail position.
-- bench: size=400000 small=600
local n = tonumber((...)) or 400000
local source = ("alpha = beta1 + 42 * (gamma - 7); "):rep(math.ceil(n / 34))
local counts = {names = 0, numbers = 0, marks = 0}
local start

local function is_letter(c) return c and c >= 97 and c <= 122 end
local function is_digit(c) return c and c >= 48 and c <= 57 end

local function name(at)
  local c = source:byte(at)
  if is_letter(c) or is_digit(c) then return name(at + 1) end
  counts.names = counts.names + 1
  return start(at)
end

local function number(at)
  if is_digit(source:byte(at)) then return number(at + 1) end
  counts.numbers = counts.numbers + 1
  return start(at)
end

function start(at)
  local c = source:byte(at)
  if not c then return at end
  if c == 32 then return start(at + 1) end
  if is_letter(c) then return name(at + 1) end
  if is_digit(c) then return number(at + 1) end
  counts.marks = counts.marks + 1
  return start(at + 1)
end

print(start(1), counts.names, counts.numbers, counts.marks)
