-- SPDX-License-Identifier: MIT
-- Encodes and decodes a nested document by pattern matching: many calls of C functions.
-- bench: size=1000 small=20
local n = tonumber((...)) or 1000

-- Encoder ---------------------------------------------------------------------
local escapes = {['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\t"] = "\\t"}
local encode

local function encode_string(text)
  return '"' .. text:gsub('[%c"\\]', function(c)
    return escapes[c] or string.format("\\u%04x", c:byte())
  end) .. '"'
end

local function encode_array(list, out)
  out[#out + 1] = "["
  for i = 1, #list do
    if i > 1 then out[#out + 1] = "," end
    encode(list[i], out)
  end
  out[#out + 1] = "]"
end

local function encode_object(object, out)
  local keys = {}
  for key in pairs(object) do keys[#keys + 1] = key end
  table.sort(keys)
  out[#out + 1] = "{"
  for i, key in ipairs(keys) do
    if i > 1 then out[#out + 1] = "," end
    out[#out + 1] = encode_string(key)
    out[#out + 1] = ":"
    encode(object[key], out)
  end
  out[#out + 1] = "}"
end

function encode(value, out)
  local kind = type(value)
  if kind == "table" then
    if value[1] ~= nil then encode_array(value, out) else encode_object(value, out) end
  elseif kind == "string" then
    out[#out + 1] = encode_string(value)
  else
    out[#out + 1] = tostring(value)
  end
end

-- Decoder: each function takes a position and returns a value and the next position.
local unescapes = {n = "\n", t = "\t"}
local words = {["true"] = true, ["false"] = false}
local decode

local function skip(text, at) return text:find("%S", at) or #text + 1 end

local function decode_string(text, at)
  local from, out = at + 1, {}
  while true do
    local stop = text:find('["\\]', from)
    out[#out + 1] = text:sub(from, stop - 1)
    if text:sub(stop, stop) == '"' then return table.concat(out), stop + 1 end
    local c = text:sub(stop + 1, stop + 1)
    if c == "u" then
      out[#out + 1] = string.char(tonumber(text:sub(stop + 2, stop + 5), 16))
      from = stop + 6
    else
      out[#out + 1] = unescapes[c] or c
      from = stop + 2
    end
  end
end

local function decode_array(text, at)
  local list = {}
  at = skip(text, at + 1)
  while text:sub(at, at) ~= "]" do
    list[#list + 1], at = decode(text, at)
    at = skip(text, at)
    if text:sub(at, at) == "," then at = skip(text, at + 1) end
  end
  return list, at + 1
end

local function decode_object(text, at)
  local object, key = {}, nil
  at = skip(text, at + 1)
  while text:sub(at, at) ~= "}" do
    key, at = decode_string(text, at)
    object[key], at = decode(text, skip(text, skip(text, at) + 1))
    at = skip(text, at)
    if text:sub(at, at) == "," then at = skip(text, at + 1) end
  end
  return object, at + 1
end

function decode(text, at)
  local c = text:sub(at, at)
  if c == "{" then return decode_object(text, at) end
  if c == "[" then return decode_array(text, at) end
  if c == '"' then return decode_string(text, at) end
  local word = text:match("^%a+", at)
  if word then return words[word], at + #word end
  local digits = text:match("^-?[%d.eE+-]+", at)
  return tonumber(digits), at + #digits
end

local function document()
  local rows = {}
  for i = 1, n do
    rows[i] = {id = i, name = "item \"" .. i .. "\"\n", price = i / 4, good = i % 3 == 0,
               tags = {"a" .. i % 7, "b\\c", "tab\t"}, place = {x = i * 1.5, y = -i}}
  end
  return {rows = rows, title = "catalogue"}
end

local out = {}
encode(document(), out)
local text = table.concat(out)
local again = {}
encode(decode(text, 1), again)
assert(table.concat(again) == text)
print(#text)
