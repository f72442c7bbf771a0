-- SPDX-License-Identifier: MIT
-- start(file) with %s and %p, stop() closes what runs, os.exit and a crash complete the file.
local trace, check = require "luatrace", require "check"
local function names(pattern) return check.output("cd " .. check.folder .. " && ls | grep -E '" .. pattern .. "' | sort") end
local function open_calls()
  assert(trace.start { file = check.folder .. "/t.%p.%s.bin" })
  check.spin(0.01)
  assert(trace.stop())
end
open_calls()
open_calls()
local files = names("^t\\.[0-9]+\\.[0-9a-f]+\\.bin$")
check.equal("files", select(2, files:gsub("\n", "")), 2)
local info = check.output("luatrace-analyze --json " .. check.folder .. "/" .. files:match("[^\n]*"))
assert(info:find('"ended": true') and info:find('"open_end": [1-9]') and info:find('"anomalies": 0'), info)

local function status_of(name, ending)
  local file = check.folder .. "/" .. name
  check.run(("assert(trace.start { file = %q })\nlocal function work() end\nfor _ = 1, 9 do work() end\n%s\n"):format(file, ending))
  local text
  for _ = 1, 500 do -- the recorder ends after the program
    text = check.output("luatrace-analyze --json " .. file)
    if text:find('"ended": true') then break end
    os.execute("sleep 0.02")
  end
  assert(text:find('"ended": true'), name .. " is not complete: " .. text)
  check.equal("calls in " .. name, text:match('"name": "work"[^}]*"calls": (%d+)'), "9")
end
status_of("exit.bin", "os.exit(3)")
status_of("crash.bin", "local ffi = require 'ffi' ffi.cdef 'int raise(int);' ffi.C.raise(9)")
status_of("end.bin", "")
