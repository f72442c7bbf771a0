-- SPDX-License-Identifier: MIT
--
-- A JSON library: an encoder, and a parser of strings and of text that arrives in chunks.
-- ./scripts/demo records it at work, in examples/json.lua.
--
-- It is ordinary Lua on purpose: closures, coroutines, pcall/error, metatables,
-- tail calls, varargs, callbacks from C (sort, gsub) and library functions, each
-- where it is natural.
--
-- Invariant: what it returns depends on its arguments alone, not on the order of
-- pairs().

local byte, char, find, format = string.byte, string.char, string.find, string.format
local gsub, match, sub = string.gsub, string.match, string.sub
local concat, sort = table.concat, table.sort
local floor = math.floor

local json = {}

-- -- Values -------------------------------------------------------------------

-- JSON's null: nil cannot be stored in a table.
json.null = setmetatable({}, { __tostring = function() return "null" end })

local Array = { __name = "array" }
Array.__index = Array

function Array.new(items) return setmetatable(items or {}, Array) end

function Array:push(value)
  self[#self + 1] = value
  return self
end

json.array = Array.new

-- "null", "boolean", "number", "string", "array" or "object".
local function kind_of(value)
  if value == json.null then return "null" end
  if type(value) ~= "table" then return type(value) end
  return getmetatable(value) == Array and "array" or "object"
end

local function sorted_keys(object)
  local keys = {}
  for key in pairs(object) do keys[#keys + 1] = key end
  sort(keys)
  return keys
end

local function equal(a, b)
  if a == b then return true end
  if kind_of(a) ~= kind_of(b) or type(a) ~= "table" then return false end
  for key, value in pairs(a) do
    if not equal(value, b[key]) then return false end
  end
  for key in pairs(b) do
    if a[key] == nil then return false end
  end
  return true
end
json.equal = equal

local function fail(code, position, text, ...)
  error({ code = code, position = position, text = format(text, ...) })
end

-- -- Encoder ------------------------------------------------------------------

local escapes = {
  ['"'] = '\\"', ["\\"] = "\\\\", ["\b"] = "\\b", ["\f"] = "\\f",
  ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t",
}

local function escape_char(c) return escapes[c] or format("\\u%04x", byte(c)) end

local function quote(text)
  if find(text, '[%c"\\]') then text = gsub(text, '[%c"\\]', escape_char) end
  return '"' .. text .. '"'
end

local function encode_number(value)
  if value ~= value or value == 1 / 0 or value == -1 / 0 then fail("number", 0, "not a finite number") end
  return format(value == floor(value) and math.abs(value) < 1e15 and "%d" or "%.14g", value)
end

local encode_value -- the encoders below call it

local function encode_array(value, out)
  out:push("[")
  for i = 1, #value do
    if i > 1 then out:push(",") end
    encode_value(value[i], out)
  end
  out:push("]")
end

local function encode_object(value, out)
  out:push("{")
  for i, key in ipairs(sorted_keys(value)) do
    if i > 1 then out:push(",") end
    out:push(quote(key)):push(":")
    encode_value(value[key], out)
  end
  out:push("}")
end

local encoders = {
  null = function(_, out) out:push("null") end,
  boolean = function(value, out) out:push(tostring(value)) end,
  number = function(value, out) out:push(encode_number(value)) end,
  string = function(value, out) out:push(quote(value)) end,
  array = encode_array,
  object = encode_object,
}

function encode_value(value, out)
  local encoder = encoders[kind_of(value)]
  if not encoder then fail("type", 0, "no JSON for a %s", type(value)) end
  encoder(value, out)
  return out
end

function json.encode(value) return concat(encode_value(value, Array.new())) end

-- -- Lexer --------------------------------------------------------------------

local unescapes = { b = "\b", f = "\f", n = "\n", r = "\r", t = "\t", ['"'] = '"', ["\\"] = "\\", ["/"] = "/" }

local function utf8_char(code)
  if code < 0x80 then return char(code) end
  if code < 0x800 then return char(0xc0 + floor(code / 64), 0x80 + code % 64) end
  return char(0xe0 + floor(code / 4096), 0x80 + floor(code / 64) % 64, 0x80 + code % 64)
end

local function unescape(text, position)
  text = gsub(text, "\\u(%x%x%x%x)", function(digits) return utf8_char(tonumber(digits, 16)) end)
  return (gsub(text, "\\(.)", function(c)
    return unescapes[c] or fail("syntax", position, "unknown escape \\%s", c)
  end))
end

-- The position of the quote that ends the string opened at `position`; nil if there is none.
local function string_end(text, position)
  local at = find(text, '["\\]', position + 1)
  while at and byte(text, at) == 92 do at = find(text, '["\\]', at + 2) end
  return at
end

local words = { ["true"] = true, ["false"] = false, null = json.null }

-- Returns a function that gives the next token each time: its type ("{", "}",
-- "[", "]", ":", ",", "value" or "end"), its value and its position in what is left of the text.
-- When a token may continue in the next chunk, `more` is called for that; nil: there is none.
local function lexer(text, more)
  local at = 1

  -- The position of the last character of the token, which is none of "{}[]:,".
  local function last()
    if sub(text, at, at) == '"' then return string_end(text, at) end
    local next_token = find(text, "[%s%[%]{}:,]", at)
    return next_token and next_token - 1
  end

  local function refill()
    local piece = more and more()
    if not piece then more = nil return false end
    text, at = sub(text, at) .. piece, 1
    return true
  end

  local function value_of(token)
    if byte(token) == 34 then
      local raw = sub(token, 2, -2)
      return find(raw, "\\", 1, true) and unescape(raw, at) or raw
    end
    if match(token, "^-?%d+%.?%d*[eE]?[+-]?%d*$") then return tonumber(token) end
    return words[token]
  end

  return function()
    local start = find(text, "%S", at)
    while not start do
      at = #text + 1
      if not refill() then return "end", nil, at end
      start = find(text, "%S")
    end
    at = start + 1
    local c = sub(text, start, start)
    if find(c, "[%[%]{}:,]") then return c, nil, start end
    at = start
    local stop = last()
    while not stop and refill() do start, stop = 1, last() end
    if not stop and c == '"' then fail("syntax", start, "string without an end") end
    local token = sub(text, start, stop or #text)
    local value = value_of(token)
    if value == nil then fail("syntax", start, "unexpected %s", token) end
    at = start + #token
    return "value", value, start
  end
end

-- -- Parser -------------------------------------------------------------------

local Parser = {}
Parser.__index = Parser

function Parser.new(next_token, limit)
  return setmetatable({ next_token = next_token, depth = 0, limit = limit or 100 }, Parser):advance()
end

function Parser:advance()
  self.type, self.value, self.position = self.next_token()
  return self
end

function Parser:expect(wanted)
  if self.type ~= wanted then fail("syntax", self.position, "%s expected, found %s", wanted, self.type) end
  return self:advance()
end

-- Calls read() for each item up to `closing`; items are separated by commas.
function Parser:items(container, closing, read)
  self.depth = self.depth + 1
  if self.depth > self.limit then fail("syntax", self.position, "nested too deeply") end
  if self:advance().type ~= closing then
    read(self, container)
    while self.type == "," do read(self:advance(), container) end
  end
  self:expect(closing)
  self.depth = self.depth - 1
  return container
end

function Parser:member(object)
  local key = self.value
  if type(key) ~= "string" then fail("syntax", self.position, "key expected") end
  self:expect("value"):expect(":")
  object[key] = self:any()
end

function Parser:element(array) return array:push(self:any()) end

function Parser:any()
  if self.type == "{" then return self:items({}, "}", self.member) end
  if self.type == "[" then return self:items(Array.new(), "]", self.element) end
  local value = self.value
  self:expect("value")
  return value
end

-- `text`: a string, or a function that returns the next chunk each time, and nil after the last
-- one. Returns the value; or nil and {code, position, text}.
function json.decode(text, limit)
  local ok, result = pcall(function()
    local next_token = type(text) == "string" and lexer(text) or lexer("", text)
    local parser = Parser.new(next_token, limit)
    local value = parser:any()
    if parser.type ~= "end" then fail("syntax", parser.position, "text after the document") end
    return value
  end)
  if ok then return result end
  if type(result) == "table" then return nil, result end
  return error(result, 0) -- a bug, not bad input
end

return json
