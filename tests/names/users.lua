-- SPDX-License-Identifier: MIT
-- Calls the functions of users.c, each a number of times of its own, which is what the test knows
-- them by.
package.cpath = arg[1] .. "/?.so"
local users = require("users")
local call, give, object = users.call, users.give, users.object
-- Tables that must not be asked for anything.
local fails = { __index = function() error("asked for a field") end, __metatable = false }
setmetatable(users.guarded, fails)
setmetatable(package.loaded, fails)
setmetatable(_G, fails)
-- Weak tables, keys that are no strings, and entries that are gone.
package.loaded.weak = setmetatable({ [{}] = users.same, [1.5] = users.same, [true] = {} }, { __mode = "kv" })
for i = 1, 100 do package.loaded.weak["key" .. i] = {} end
package.loaded[function() end] = { direct = users.direct }
package.loaded.self = package.loaded
collectgarbage()

local function times(n, f, ...)
  for i = 1, n do call(f, ...) end
end
times(101, users.direct)
times(102, users.a.nested)
times(103, users.a.b.deep)
times(104, users.a.b.c.deepest)
times(105, users.one)
times(106, users.name)
times(107, users.same)
times(108, object().method)
times(109, object().close)
times(110, rawget(users.guarded, "inside"))
local unnamed = give("h")
for i = 1, 111 do unnamed(i) end
local late = give("l")
rawset(package.loaded, "a.later.one", { fn = late })
times(112, late)
do
  local final = give("f")
  rawset(package.loaded, "final", { fn = final })
  local proxy = newproxy(true)
  getmetatable(proxy).__gc = function() times(113, final) end
end
collectgarbage()
collectgarbage()
rawset(_G, "in_globals", give("g"))
times(114, rawget(_G, "in_globals"))
times(115, users.inherited)
times(116, users.class().classed)
times(117, users.socket(true).twice)
times(118, users.socket(false).anonymous)
-- Each of two classes has a send: which one is meant only the call says.
local stream, packet = users.socket(true), users.socket(false)
for i = 1, 119 do stream:send(i) end
for i = 1, 120 do packet:send(i) end
-- What a wrap of the module's own returns.
times(121, users.wrap(coroutine.create(print)))
