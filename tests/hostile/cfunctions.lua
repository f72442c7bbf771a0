-- SPDX-License-Identifier: MIT
-- The library and every operator of cdata, often enough to be compiled: see cfunctions.sh.
local ffi = require("ffi")
local bit = require("bit")
ffi.cdef("typedef struct { double x; } cfunctions_v; int getppid(void);")
local function op(a) return a end
local V = ffi.metatype("cfunctions_v", {
  __add = op, __sub = op, __mul = op, __div = op, __mod = op, __pow = op, __unm = op,
  __len = function() return 1 end, __concat = op, __call = op,
  __eq = function() return true end, __lt = function() return true end, __le = function() return true end,
  __index = function(_, k) return k end, __newindex = function() end,
  __tostring = function() return "v" end,
  __pairs = function() return next, {}, nil end, __ipairs = function() return next, {}, nil end,
})
local int, pair = ffi.typeof("int"), ffi.new("int[2]")
local v, n, t = V(1), 1LL, { 3, 1, 2 }

local function operators()
  local a = v + v, v - v, v * v, v / v, v % v, v ^ v, -v, #v, v .. v, v(1)
  local _ = v == v, v < v, v <= v, v.missing
  v.missing = a
  local m = n + 1, n - 1, n * 2, n / 2, n % 3, n ^ 2, -n
  _ = n == m, n < m, n <= m, pair[0]
  pair[1] = 2
  _ = ffi.C.getppid(), int(3), tostring(v), tostring(n)
  for _ in pairs(v) do end
  for _ in ipairs(v) do end
end

local function library()
  local s = ("abc"):upper():lower():rep(2):reverse():sub(2, 3) .. string.char(65, 66)
  local _ = s:byte(1), s:len(), s:find("b", 1, true), s:find("%w"), s:match("%w+"), s:format()
  _ = s:gsub("%w", "x"), ("%d"):format(3), tostring(3), tonumber("7"), tonumber("z", 36)
  _ = math.floor(1.5), math.sin(1), math.max(1, 2), math.min(1, 2), math.fmod(5, 3), math.pow(2, 3)
  _ = math.abs(-1), math.sqrt(4), math.exp(0), math.log(1), math.atan2(1, 2), math.modf(1.5), math.random()
  _ = bit.band(1, 3), bit.bor(1, 2), bit.tohex(255), bit.lshift(1, 3), bit.bswap(1), bit.tobit(1)
  table.insert(t, 4) table.remove(t) table.sort(t)
  _ = table.concat(t, ","), unpack(t), select("#", 1, 2), select(2, 1, 2), next(t), rawget(t, 1)
  rawset(t, 1, 3)
  _ = rawequal(t, t), type(t), getmetatable(t), setmetatable({}, nil), assert(true), pcall(type, 1)
  _ = xpcall(type, print, 1), ffi.cast("int", 3), ffi.sizeof("int"), ffi.new("int[1]"), ffi.istype(V, v)
  _ = ffi.typeof("int"), ffi.string("x"), os.clock(), os.time(), loadstring("return 1")()
  for _ in pairs(t) do end
  for _ in ipairs(t) do end
end
for _ = 1, 40 do operators() library() end
for i = 1, 300 do v = v + v; n = n + i; v.x = v.x end
