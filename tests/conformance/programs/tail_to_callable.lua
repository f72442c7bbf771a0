-- SPDX-License-Identifier: MIT
-- Tail calls to tables with __call, also through two levels of it.
local function invoke(self, x) return x * 2 end --:invoke
local callable = setmetatable({}, { __call = invoke })
local function hop(x) --:hop
  return callable(x)
end
local function deep(self, x) --:deep
  return self.target(x)
end
local chain = setmetatable({ target = callable }, { __call = deep })
local sum = 0
for i = 1, 120 do sum = sum + hop(i) + chain(i) end
print(sum)
