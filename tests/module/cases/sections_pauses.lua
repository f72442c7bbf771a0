-- SPDX-License-Identifier: MIT
-- Sections that are open when a recording begins, or at a pause: their stop works, and a report has the
-- time that was recorded.
local trace, check = require "luatrace", require "check"
local function inner(seconds) check.spin(seconds) end
local function outer()
  inner(0.02)
  check.spin(0.02)
end
local function row(name) return check.row(trace.report(), "[section] " .. name) end
local function seconds(name) return row(name).inclusive_ns / 1e9 end
local function between(what, value, low, high)
  if value < low or value > high then error(("%s: %g"):format(what, value), 2) end
end

trace.section_start("before")
check.spin(0.05) -- not recorded
assert(trace.start())
outer()
local function deeper()
  trace.section_stop("before")
  check.spin(0.03)
end
deeper()
check.spin(0.03)
local before = seconds("before")
assert(before >= 0.04, before)
check.throws("has not been started", trace.section_stop, "before")
check.equal("calls", row("before").calls, 0)

trace.section_start("over")
check.spin(0.01)
assert(trace.pause())
check.spin(0.3)
assert(trace.resume())
outer()
trace.section_stop("over")
local over, later = seconds("over"), seconds("before")
assert(over >= 0.05, over)
check.equal("a section that has ended", later, before)
assert(trace.sections("over").time >= 0.35, "sections() has all of it")

-- Stopped in the pause; and begun in it.
trace.section_start("stopped")
check.spin(0.01)
assert(trace.pause())
trace.section_stop("stopped")
trace.section_start("begun")
check.spin(0.05)
assert(trace.resume())
check.spin(0.02)
trace.section_stop("begun")
assert(seconds("stopped") >= 0.01 and seconds("begun") >= 0.02)
assert(trace.stop())

-- Without the time of the pauses, in numbers that do not depend on the machine.
local function nested() return 1 end
trace.section_start("counted")
assert(trace.start { file = check.folder .. "/t.bin" })
local function called() nested() end
called()
called()
trace.section_stop("counted")
nested()
assert(trace.stop())
local below = check.output("luatrace-analyze --format folded " .. check.folder .. "/t.bin")
local inside = 0
for line in below:gmatch("[^\n]+") do
  if line:find("[section] counted", 1, true) and line:find("called", 1, true) then inside = inside + 1 end
end
assert(inside > 0, below)
