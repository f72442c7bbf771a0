-- SPDX-License-Identifier: MIT
-- What the cases of tests/module share. A case is a program that fails by an error.
local check = {}

function check.equal(what, got, wanted)
  if got ~= wanted then
    error(("%s: %s, not %s"):format(what, tostring(got), tostring(wanted)), 2)
  end
end

-- fn(...) throws an error with that text.
function check.throws(text, fn, ...)
  local ok, why = pcall(fn, ...)
  if ok or not tostring(why):find(text, 1, true) then
    error(("no error '%s', but: %s"):format(text, tostring(why)), 2)
  end
end

-- fn(...) returns nil and a message with that text.
function check.refuses(text, fn, ...)
  local result, why = fn(...)
  if result ~= nil or not tostring(why):find(text, 1, true) then
    error(("no nil and '%s', but: %s, %s"):format(text, tostring(result), tostring(why)), 2)
  end
end

-- The only row of that name.
function check.row(rows, name)
  local found
  for _, row in ipairs(rows) do
    if row.name == name then
      if found then error("two rows of " .. name, 2) end
      found = row
    end
  end
  return found or error("no row of " .. name, 2)
end

function check.no_row(rows, name)
  for _, row in ipairs(rows) do
    if row.name == name then error("a row of " .. name, 2) end
  end
end

-- Keeps a processor busy for that many seconds of processor time.
function check.spin(seconds)
  local clock = os.clock
  local start = clock()
  while clock() - start < seconds do end
end

-- The output of a command, which must succeed.
function check.output(command)
  local pipe = io.popen(command .. " 2>&1; echo status $?")
  local text = pipe:read("*a")
  pipe:close()
  local before, status = text:match("^(.*)status (%d+)\n$")
  if status ~= "0" then error(command .. ": " .. text, 2) end
  return before
end

-- Runs that program in another luajit; its exit status.
function check.run(program)
  local name = os.tmpname()
  local file = assert(io.open(name, "w"))
  file:write("local trace, check = require 'luatrace', require 'check'\n", program)
  file:close()
  local status = os.execute("luajit " .. name)
  os.remove(name)
  return status
end

check.folder = os.getenv("SCRATCH")
return check
