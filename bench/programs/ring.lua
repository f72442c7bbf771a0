-- SPDX-License-Identifier: MIT
-- A token goes round a ring of 500 coroutines driven by coroutine.resume.
-- bench: size=200000 small=2000
local n = tonumber((...)) or 200000

local function member(token)
  while true do token = coroutine.yield(token + 1) end
end

local members = {}
for i = 1, 500 do members[i] = coroutine.create(member) end
local token, at = 0, 1
while token < n do
  local _
  _, token = coroutine.resume(members[at], token)
  at = at % #members + 1
end
print(token, at)
