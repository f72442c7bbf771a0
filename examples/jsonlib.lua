-- SPDX-License-Identifier: MIT
--
-- A JSON library: encoder, recursive and streaming parser, path queries, schemas.
-- ./scripts/demo records it at work, in examples/json.lua.
--
-- It is ordinary Lua on purpose: closures, coroutines, pcall/error, metatables,
-- tail calls, varargs, callbacks from C (sort, gsub) and library functions, each
-- where it is natural.
--
-- Invariant: what it returns depends on its arguments alone, not on the order of
-- pairs().

local byte, char, find, format = string.byte, string.char, string.find, string.format
local gsub, match, rep, sub = string.gsub, string.match, string.rep, string.sub
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

function Array:map(f)
  local out = Array.new()
  for i = 1, #self do out[i] = f(self[i], i) end
  return out
end

function Array:filter(keep)
  local out = Array.new()
  for i = 1, #self do
    if keep(self[i]) then out:push(self[i]) end
  end
  return out
end

function Array:fold(f, value)
  for i = 1, #self do value = f(value, self[i]) end
  return value
end

json.array = Array.new

local function is_array(value) return getmetatable(value) == Array end

-- "null", "boolean", "number", "string", "array" or "object".
local function kind_of(value)
  if value == json.null then return "null" end
  if type(value) ~= "table" then return type(value) end
  return is_array(value) and "array" or "object"
end

local function sorted_keys(object)
  local keys = {}
  for key in pairs(object) do keys[#keys + 1] = key end
  sort(keys)
  return keys
end

local function equal(a, b)
  if a == b then return true end
  local kind = kind_of(a)
  if kind ~= kind_of(b) or type(a) ~= "table" then return false end
  if kind == "array" and #a ~= #b then return false end
  for key, value in pairs(a) do
    if not equal(value, b[key]) then return false end
  end
  for key in pairs(b) do
    if a[key] == nil then return false end
  end
  return true
end
json.equal, json.sorted_keys = equal, sorted_keys

-- -- Encoder ------------------------------------------------------------------

local escapes = {
  ['"'] = '\\"', ["\\"] = "\\\\", ["\b"] = "\\b", ["\f"] = "\\f",
  ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t",
}

local function escape_char(c)
  return escapes[c] or format("\\u%04x", byte(c))
end

local function quote(text)
  if find(text, '[%c"\\]') then text = gsub(text, '[%c"\\]', escape_char) end
  return '"' .. text .. '"'
end

local function encode_number(value)
  if value ~= value or value == 1 / 0 or value == -1 / 0 then
    error({ code = "number", text = "not a finite number" })
  end
  if value == floor(value) and value > -1e15 and value < 1e15 then
    return format("%d", value)
  end
  return format("%.14g", value)
end

local encode_value -- the encoders below call each other

local function encode_array(value, out)
  out[#out + 1] = "["
  for i = 1, #value do
    if i > 1 then out[#out + 1] = "," end
    encode_value(value[i], out)
  end
  out[#out + 1] = "]"
end

local function encode_object(value, out)
  out[#out + 1] = "{"
  for i, key in ipairs(sorted_keys(value)) do
    if i > 1 then out[#out + 1] = "," end
    out[#out + 1] = quote(key)
    out[#out + 1] = ":"
    encode_value(value[key], out)
  end
  out[#out + 1] = "}"
end

local encoders = {
  null = function(_, out) out[#out + 1] = "null" end,
  boolean = function(value, out) out[#out + 1] = tostring(value) end,
  number = function(value, out) out[#out + 1] = encode_number(value) end,
  string = function(value, out) out[#out + 1] = quote(value) end,
  array = encode_array,
  object = encode_object,
}

function encode_value(value, out)
  local encoder = encoders[kind_of(value)]
  if not encoder then error({ code = "type", text = "no JSON for a " .. type(value) }) end
  return encoder(value, out)
end

function json.encode(value)
  local out = {}
  encode_value(value, out)
  return concat(out)
end

-- Indented text, written through `write`, up to a line at a time.
function json.pretty(value, write, indent)
  indent = indent or 0
  local kind = kind_of(value)
  local function pad(n) write("\n" .. rep("  ", n)) end
  if kind == "array" and #value > 0 then
    write("[")
    for i = 1, #value do
      if i > 1 then write(",") end
      pad(indent + 1)
      json.pretty(value[i], write, indent + 1)
    end
    pad(indent)
    return write("]")
  elseif kind == "object" and next(value) then
    write("{")
    for i, key in ipairs(sorted_keys(value)) do
      if i > 1 then write(",") end
      pad(indent + 1)
      write(quote(key) .. ": ")
      json.pretty(value[key], write, indent + 1)
    end
    pad(indent)
    return write("}")
  end
  return write(json.encode(value))
end

-- -- Lexer --------------------------------------------------------------------

local unescapes = { b = "\b", f = "\f", n = "\n", r = "\r", t = "\t", ['"'] = '"', ["\\"] = "\\", ["/"] = "/" }

local function utf8_char(code)
  if code < 0x80 then return char(code) end
  if code < 0x800 then return char(0xc0 + floor(code / 64), 0x80 + code % 64) end
  return char(0xe0 + floor(code / 4096), 0x80 + floor(code / 64) % 64, 0x80 + code % 64)
end

local function syntax_error(position, text)
  error({ code = "syntax", position = position, text = text })
end

local function unescape(text, position)
  text = gsub(text, "\\u(%x%x%x%x)", function(digits) return utf8_char(tonumber(digits, 16)) end)
  return (gsub(text, "\\(.)", function(c)
    return unescapes[c] or syntax_error(position, "unknown escape \\" .. c)
  end))
end

-- Where the string that opens at `position` ends; nil if it does not.
local function string_end(text, position)
  local at = position + 1
  while true do
    at = find(text, '["\\]', at)
    if not at then return nil end
    if byte(text, at) == 34 then return at end
    at = at + 2
  end
end

local words = { ["true"] = true, ["false"] = false, null = json.null }

-- Returns a function that gives the next token each time: its type ("{", "}",
-- "[", "]", ":", ",", "value" or "end"), its value and its position.
local function lexer(text)
  local at = 1

  local function lex_string()
    local stop = string_end(text, at) or syntax_error(at, "string without an end")
    local raw, start = sub(text, at + 1, stop - 1), at
    at = stop + 1
    if find(raw, "\\", 1, true) then raw = unescape(raw, start) end
    return "value", raw, start
  end

  local function lex_number()
    local start = at
    local digits = match(text, "^-?%d+%.?%d*[eE]?[+-]?%d*", at)
    local value = digits and tonumber(digits)
    if not value then syntax_error(at, "not a number") end
    at = at + #digits
    return "value", value, start
  end

  local function lex_word()
    local start = at
    local word = match(text, "^%a+", at)
    local value = word and words[word]
    if value == nil then syntax_error(at, "unexpected " .. sub(text, at, at)) end
    at = at + #word
    return "value", value, start
  end

  return function()
    at = find(text, "%S", at) or #text + 1
    local c = sub(text, at, at)
    if c == "" then return "end", nil, at end
    if c == '"' then return lex_string() end
    if find(c, "[%[%]{}:,]") then
      at = at + 1
      return c, nil, at - 1
    end
    if find(c, "[-%d]") then return lex_number() end
    return lex_word()
  end
end

-- -- Recursive parser ---------------------------------------------------------

local Parser = {}
Parser.__index = Parser

function Parser.new(text, limit)
  local self = setmetatable({ next_token = lexer(text), depth = 0, limit = limit or 100 }, Parser)
  return self:advance()
end

function Parser:advance()
  self.type, self.value, self.position = self.next_token()
  return self
end

function Parser:expect(wanted)
  if self.type ~= wanted then
    syntax_error(self.position, format("%s expected, found %s", wanted, self.type))
  end
  return self:advance()
end

function Parser:enter()
  self.depth = self.depth + 1
  if self.depth > self.limit then syntax_error(self.position, "nested too deeply") end
  return self:advance()
end

function Parser:leave(value, closing)
  self:expect(closing)
  self.depth = self.depth - 1
  return value
end

function Parser:object()
  local object = {}
  self:enter()
  while self.type ~= "}" do
    local key = self.value
    if type(key) ~= "string" then syntax_error(self.position, "key expected") end
    self:expect("value"):expect(":")
    object[key] = self:any()
    if self.type ~= "," then break end
    self:advance()
    if self.type == "}" then syntax_error(self.position, "key expected") end
  end
  return self:leave(object, "}")
end

function Parser:array()
  local array = Array.new()
  self:enter()
  while self.type ~= "]" do
    array:push(self:any())
    if self.type ~= "," then break end
    self:advance()
    if self.type == "]" then syntax_error(self.position, "value expected") end
  end
  return self:leave(array, "]")
end

function Parser:any()
  if self.type == "{" then return self:object() end
  if self.type == "[" then return self:array() end
  local value = self.value
  self:expect("value")
  return value
end

-- Returns the value; or nil and {code, position, text}.
function json.decode(text, limit)
  local ok, result = pcall(function()
    local parser = Parser.new(text, limit)
    local value = parser:any()
    if parser.type ~= "end" then syntax_error(parser.position, "text after the document") end
    return value
  end)
  if ok then return result end
  if type(result) == "table" then return nil, result end
  return error(result, 0) -- a bug, not bad input
end

-- -- Streaming parser ---------------------------------------------------------

-- Tokens of a text that arrives in chunks. Runs inside a coroutine: when a token
-- may continue in the next chunk, it yields "more" and is resumed with that chunk.
local function stream_tokens(piece)
  local buffer = piece

  local function more()
    local got = coroutine.yield("more")
    if got then buffer = buffer .. got end
    return got
  end

  local function complete(at)
    local c = sub(buffer, at, at)
    if c == '"' then return string_end(buffer, at) end
    if find(c, "[%[%]{}:,]") then return at end
    return find(buffer, "[%s%[%]{}:,]", at)
  end

  return function()
    local at = find(buffer, "%S")
    while not at do
      buffer = ""
      if not more() then return "end" end
      at = find(buffer, "%S")
    end
    local stop = complete(at)
    while not stop do
      if not more() then stop = #buffer end
      stop = stop or complete(at)
    end
    local c = sub(buffer, at, at)
    if c ~= '"' and stop > at and find(sub(buffer, stop, stop), "[%s%[%]{}:,]") then stop = stop - 1 end
    local token = sub(buffer, at, stop)
    buffer = sub(buffer, stop + 1)
    return lexer(token)()
  end
end

-- The body of the coroutine: yields "event" for each thing it finds.
local function stream_body(piece)
  local next_token = stream_tokens(piece)
  local open = {}
  while true do
    local type, value = next_token()
    if type == "end" then break end
    if type == "{" or type == "[" then
      open[#open + 1] = type
    elseif type == "}" or type == "]" then
      if open[#open] ~= (type == "}" and "{" or "[") then syntax_error(0, "unbalanced " .. type) end
      open[#open] = nil
    end
    coroutine.yield("event", type, value)
  end
  if #open > 0 then syntax_error(0, "the text ends inside of " .. open[#open]) end
  return "end"
end

-- Calls handler(type, value) for each token of the chunks that `source` returns.
function json.stream(source, handler)
  local body = coroutine.create(stream_body)
  local feed = source()
  while true do
    local ok, what, type, value = coroutine.resume(body, feed)
    feed = nil
    if not ok then return nil, what end
    if what == "end" then return true end
    if what == "more" then feed = source() else handler(type, value) end
  end
end

-- A handler that builds the document, and a function that returns it.
function json.builder()
  local stack, keys, root = {}, {}, nil
  local pending

  local function add(value)
    local top = stack[#stack]
    if not top then root = value
    elseif is_array(top) then top:push(value)
    elseif pending == nil then pending = value
    else top[pending], pending = value, nil end
  end

  local function open(container)
    keys[#keys + 1] = pending or false
    pending = nil
    stack[#stack + 1] = container
  end

  local function close()
    local value = table.remove(stack)
    pending = table.remove(keys) or nil
    return add(value)
  end

  local actions = {
    ["{"] = function() open({}) end,
    ["["] = function() open(Array.new()) end,
    ["}"] = close,
    ["]"] = close,
    value = add,
  }
  return function(type, value)
    local action = actions[type]
    if action then return action(value) end
  end, function() return root end
end

-- -- Path queries -------------------------------------------------------------

-- Each step takes a value and calls emit for each value that it selects.
local function step_key(key)
  return function(value, emit)
    if kind_of(value) == "object" and value[key] ~= nil then return emit(value[key]) end
  end
end

local function step_each(value, emit)
  local kind = kind_of(value)
  if kind == "array" then
    for i = 1, #value do emit(value[i]) end
  elseif kind == "object" then
    for _, key in ipairs(sorted_keys(value)) do emit(value[key]) end
  end
end

local function step_index(index)
  return function(value, emit)
    if is_array(value) and value[index + 1] ~= nil then return emit(value[index + 1]) end
  end
end

local function step_descend(value, emit)
  emit(value)
  return step_each(value, function(child) return step_descend(child, emit) end)
end

local step_parsers = {
  { "^%.%.", function() return step_descend end },
  { "^%.?%*", function() return step_each end },
  { "^%.?([%a_][%w_]*)", step_key },
  { "^%[%*%]", function() return step_each end },
  { "^%[(%d+)%]", function(digits) return step_index(tonumber(digits)) end },
}

local function parse_step(text, at)
  for _, parser in ipairs(step_parsers) do
    local from, to, capture = find(text, parser[1], at)
    if from then return parser[2](capture), to + 1 end
  end
  error({ code = "path", position = at, text = "cannot read the path from here" })
end

-- Compiles "$.orders[*].lines..price" to a function(document) that returns an
-- array of the selected values. Steps are chained from the last to the first.
function json.path(text)
  local steps, at = {}, 2
  while at <= #text do steps[#steps + 1], at = parse_step(text, at) end
  local function chain(i, emit)
    local step = steps[i]
    if not step then return emit end
    local rest = chain(i + 1, emit)
    return function(value) return step(value, rest) end
  end
  return function(document)
    local found = Array.new()
    chain(1, function(value) found:push(value) end)(document)
    return found
  end
end

-- -- Schemas ------------------------------------------------------------------

-- A check is a function(value, where): it returns nothing, or raises an error.
local check = {}
json.check = check

local function violation(where, text, ...)
  error({ code = "schema", where = where, text = format(text, ...) })
end

function check.is(kind)
  return function(value, where)
    if kind_of(value) ~= kind then violation(where, "%s expected, found %s", kind, kind_of(value)) end
  end
end

function check.range(low, high)
  local is_number = check.is("number")
  return function(value, where)
    is_number(value, where)
    if value < low or value > high then violation(where, "%g is not in %g..%g", value, low, high) end
  end
end

function check.all(...)
  local checks = { ... }
  return function(value, where)
    for i = 1, #checks do checks[i](value, where) end
  end
end

function check.any(...)
  local checks = { ... }
  return function(value, where)
    for i = 1, #checks do
      if pcall(checks[i], value, where) then return end
    end
    violation(where, "none of %d alternatives fits", #checks)
  end
end

function check.items(item)
  return check.all(check.is("array"), function(value, where)
    for i = 1, #value do item(value[i], where .. "[" .. (i - 1) .. "]") end
  end)
end

function check.fields(fields)
  local names = sorted_keys(fields)
  return check.all(check.is("object"), function(value, where)
    for _, name in ipairs(names) do fields[name](value[name], where .. "." .. name) end
  end)
end

return json
