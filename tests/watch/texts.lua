-- SPDX-License-Identifier: MIT
-- Values that try to look like others, in a program whose locale writes numbers with a comma.
local comma = os.getenv("COMMA") and assert(os.setlocale("comma", "numeric")) and "comma" or "point"
local function take(x, text, t) return x, text, t end
for i = 1, 4 do
  take(i + 0.25, 'a" admin=true b="', { ["k=1, admin"] = true, plain = 1e100, ["9lives"] = "\"" })
end
print(comma)
