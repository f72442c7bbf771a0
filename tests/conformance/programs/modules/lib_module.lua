-- SPDX-License-Identifier: MIT
-- The module that require_module.lua loads.
local function helper(x)
  return x
end
local function twice(x)
  return helper(x) + helper(x)
end
return { twice = twice }
