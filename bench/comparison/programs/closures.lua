-- SPDX-License-Identifier: MIT
-- 500 closures of one definition (made by 500 calls of make), called once each; one function by four
-- names, 100 times each; two functions of the same name.
local function make(n)
  return function() return n end
end
local function named() return 1 end
local other = named
local object = { method = named }
local function same() return 1 end
local first = same
local function same() return 2 end
return function()
  for i = 1, 500 do
    local f = make(i)
    f()
  end
  for _ = 1, 100 do
    named()
    other()
    object.method()
    object:method()
    first()
    same()
  end
end
