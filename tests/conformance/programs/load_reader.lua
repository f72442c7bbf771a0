-- SPDX-License-Identifier: MIT
-- load with a reader function, loadstring, and running what they made.
local function reader(parts) --:reader
  local i = 0
  return function() --:read
    i = i + 1
    return parts[i]
  end
end
local sum = 0
for i = 1, 50 do
  local chunk = load(reader({ "return ", "1 + ", tostring(i) }), "=piece")
  sum = sum + chunk()
  sum = sum + loadstring("return ...", "=string")(i)
  assert(not loadstring("return return", "=bad"))
end
print(sum)
