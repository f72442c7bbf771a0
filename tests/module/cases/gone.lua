-- SPDX-License-Identifier: MIT
-- The recorder is killed: the program goes on, and is told. (-o: not luatrace-listen, its copy, which then
-- removes the socket.)
local trace, check = require "luatrace", require "check"
local function work() end
local file = check.folder .. "/t.bin"
local function kill()
  os.execute(([[
    p=$(pgrep -o -f -- '[-]-inside -q -o %s')
    kill -9 $p
    while grep -q ') [^Z]' /proc/$p/stat; do sleep 0.01; done 2>/dev/null]]):format(file))
end
assert(trace.start { file = file })
for _ = 1, 5 do work() end
assert(trace.report())
kill()
for _ = 1, 5 do work() end
check.refuses("luatrace-record has ended unexpectedly", trace.stop)
check.equal("running", trace.is_running(), false)
check.equal("what was written", check.row(trace.report(), "work").calls, 5)
assert(trace.start { file = file })
kill()
check.refuses("luatrace-record has ended unexpectedly", trace.pause)
check.refuses("luatrace-record has ended unexpectedly", trace.resume)
check.equal("running", trace.is_running(), false)
check.refuses("luatrace-record has ended unexpectedly", trace.stop)

-- A program that closes all descriptors is recorded to its end.
check.equal("a daemon", check.run([[
  local ffi = require "ffi"
  ffi.cdef "int close(int);"
  assert(trace.start { file = check.folder .. "/daemon.bin" })
  for fd = 3, 200 do ffi.C.close(fd) end
  for _ = 1, 9 do check.equal("x", 1, 1) end
  check.refuses("has closed the connection", trace.report)
  check.refuses("completes the file when the process ends", trace.stop)
]]), 0)
assert(trace.start())
assert(trace.stop())
