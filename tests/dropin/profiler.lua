-- SPDX-License-Identifier: MIT
-- Waits for input in a library function, below coroutines, metamethods and varargs.
local function wait()
  io.stdout:write("ready\n")
  io.stdout:flush()
  io.read()
  return 1
end

local function varied(...)
  local ok = pcall(wait, ...)
  return ok
end

local meta = setmetatable({}, {
  __index = function(_, key)
    local value = varied(key, 1, 2)
    return value
  end,
})

local function middle()
  coroutine.wrap(function()
    local value = meta.key
    return value
  end)()
end

local co = coroutine.create(function()
  middle()
  return 1
end)
print(coroutine.resume(co))
