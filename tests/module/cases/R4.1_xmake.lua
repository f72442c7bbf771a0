-- SPDX-License-Identifier: MIT
-- xmake's line: time, share, calls, name : file: line; `anonymous` without a name; paths relative to a
-- folder; recursion does not overwrite the outer start time.
local trace, check = require "luatrace", require "check"
local function short() end
local function fib(n)
  if n < 2 then check.spin(0.001) return n end
  return fib(n - 1) + fib(n - 2)
end
local file = check.folder .. "/xmake.bin"
assert(trace.start { file = file })
fib(6)
short();
(function() end)()
assert(trace.stop())
local here = debug.getinfo(1).source:match("^@(.*)/")
local text = trace.dump { format = "xmake", source_root = here }
local time, share, calls = text:match("([%d.]+), +([%d.]+)%%, +(%d+), fib : R4.1_xmake.lua: 6\n")
check.equal("calls", calls, "25")
local row = check.row(trace.report(), "fib")
assert(math.abs(time - row.inclusive_ns / 1e9) < 0.001 and share + 0 <= 100)
assert(text:find(" 1, anonymous : R4.1_xmake.lua: 14\n", 1, true), text)

-- On the screen, what is below 1 % is left out, and the file that has all of it is named.
assert(text:find("short : R4.1_xmake.lua", 1, true), text)
local shown = check.output("script -qec 'luatrace-analyze --format xmake " .. file .. "' /dev/null")
assert(shown:find("fib : ", 1, true) and not shown:find("short : ", 1, true), shown)
assert(shown:find("below 1 %: all are in " .. file, 1, true), shown)
