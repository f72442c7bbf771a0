-- SPDX-License-Identifier: MIT
-- Functions of a C module: calls, callbacks, errors, yields and tail calls.
package.cpath = os.getenv("CONFORMANCE_MODULE")
local m = require("conformance_module")
local function f(x) return x + 1 end --:f
local function fail(x) error("f", 0) end --:fails
local function direct(x) return m.add(x, 1) end --:direct
local function body(x) --:body
  local y = m.yield(x)
  return y + 1
end
local function run(i) --:run
  local a = m.add(i, 2)
  local b = m.call(f, i)
  local ok = m.pcall(fail, i)
  local ok2 = pcall(m.call, fail, i)
  local ok3 = pcall(m.fail, "c")
  return a + b + direct(i)
end
local sum = 0
for i = 1, 90 do sum = sum + run(i) end
for i = 1, 50 do
  local co = coroutine.wrap(body)
  co(i)
  sum = sum + co(i)
  sum = sum + m.resume(body, i)
end
io.write(sum, "\n")
