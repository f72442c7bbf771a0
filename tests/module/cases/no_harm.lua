-- SPDX-License-Identifier: MIT
-- What the program must not notice: no child, no signal, no descriptor that a program inherits, the
-- terminal's and its own signals, closed standard streams, few descriptors, a handler of SIGCHLD.
local ffi = require "ffi"
local trace, check = require "luatrace", require "check"
ffi.cdef [[
int fork(void); int waitpid(int, int *, int); int close(int); void _exit(int); int getpid(void);
int fcntl(int, int, ...); int dup(int); int dup2(int, int); int setrlimit(int, const unsigned long *); int kill(int, int);
typedef void (*handler)(int); handler signal(int, handler);
]]
local C = ffi.C
local function work() end
local function count(n) for _ = 1, n do work() end end

-- wait() finds nobody; nor if it ignores its children, which then vanish.
assert(trace.start())
check.equal("children", C.waitpid(-1, nil, 1), -1)
assert(trace.report())
assert(trace.stop())
check.equal("children after the stop", C.waitpid(-1, nil, 1), -1)
C.signal(17, ffi.cast("handler", 1)) -- SIGCHLD, SIG_IGN
assert(trace.start())
count(3)
check.equal("children of one that ignores them", C.waitpid(-1, nil, 1), -1)
check.equal("report", check.row(assert(trace.report()), "work").calls, 3)
check.equal("children after a report", C.waitpid(-1, nil, 1), -1)
C.signal(17, ffi.cast("handler", 0))

-- A program that it executes inherits nothing: the recorder's socket would stay open.
local text = check.output("ls -l /proc/self/fd")
assert(not text:find("socket", 1, true) and not text:find("luatrace", 1, true), text)

-- A forked child is recorded, too: it can pause and end its own part of its parent's recording, and no more.
local pid = C.fork()
if pid == 0 then
  count(6)
  local good = trace.is_running() and trace.pause() and not trace.is_running()
  count(1) -- not recorded
  good = good and trace.resume() and trace.is_running()
  count(4)
  for _, name in ipairs { "report", "reset", "snapshot" } do
    local ok, why = trace[name]()
    good = good and ok == nil and why:find("the parent process has started", 1, true)
  end
  good = good and trace.stop() and not trace.is_running() and not trace.stop()
  count(1) -- not recorded
  good = good and trace.start() -- its own
  count(20)
  good = good and check.row(assert(trace.report()), "work").calls == 20 and trace.stop()
  C._exit(good and 7 or 1)
end
local status = ffi.new("int[1]")
check.equal("waited", C.waitpid(pid, status, 0), pid)
check.equal("status of the child", status[0], 7 * 256)
count(2)
check.equal("calls of both", check.row(assert(trace.report()), "work").calls, 3 + 10 + 2)
assert(trace.stop())

-- Descriptors that the program closes, and uses again, are not ours any more.
assert(trace.start { file = check.folder .. "/closed.bin" })
count(5)
for fd = 3, 200 do C.close(fd) end
local files = {}
for i = 1, 100 do files[i] = assert(io.open(check.folder .. "/f" .. i, "w")) end
check.refuses("the program has closed the connection to luatrace-record", trace.stop)
for i = 1, 100 do
  assert(files[i]:write("mine"))
  files[i]:close()
  check.equal("a file of the program", io.open(check.folder .. "/f" .. i):read("*a"), "mine")
end
check.equal("running", trace.is_running(), false)
assert(trace.start())
assert(trace.stop())

-- Closed standard streams are not written to.
local errors = C.dup(2)
for fd = 0, 2 do C.close(fd) end
local started, why = trace.start()
count(4)
local rows = trace.report()
local stopped = trace.stop()
local free = C.fcntl(0, 1) == -1 and C.fcntl(1, 1) == -1 and C.fcntl(2, 1) == -1
C.dup2(errors, 2)
assert(started and stopped, why)
assert(free, "a standard stream is open")
check.equal("calls", check.row(rows, "work").calls, 4)

-- Few descriptors: an error, or a recording; never those of the program.
C.setrlimit(7, ffi.new("unsigned long[2]", 8, 8))
started, why = trace.start()
assert(started or why:find("descriptor", 1, true) or why:find("Too many open files", 1, true), why)
