-- SPDX-License-Identifier: MIT
-- status, running and isyieldable inside nested calls have no say in the order of events.
local seen = {}
local function look(co) --:look
  seen[#seen + 1] = coroutine.status(co)
  return coroutine.running() == co
end
local function body(co) --:body
  assert(look(co))
  coroutine.yield()
  assert(look(co))
end
for i = 1, 50 do
  local co = coroutine.create(body)
  look(co)
  coroutine.resume(co, co)
  look(co)
  coroutine.resume(co)
  look(co)
end
print(table.concat(seen, " ", 1, 5))
