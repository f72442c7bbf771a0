-- SPDX-License-Identifier: MIT
-- What the recorder has to say reaches the program: patterns that match nothing, snapshots that were not
-- written, a limit that was reached.
local trace, check = require "luatrace", require "check"
local function quick() end
local function slow() check.spin(0.01) end
local function has(what, text, wanted)
  if not tostring(text):find(wanted, 1, true) then error(("%s: no '%s' in %s"):format(what, wanted, text), 2) end
end
local function path(name) return check.folder .. "/" .. name end

assert(trace.start { include = { "*remarks.lua", "*/none.lua" } })
quick()
local _, text = assert(trace.stop())
has("include", text, "include '*/none.lua': no function")

assert(trace.start { file = path("f.%n.bin"), flight = "1M", slow = { "slow=1ms", "none=1ms" } })
for _ = 1, 5 do slow() end
_, text = assert(trace.stop())
has("slow", text, "slow or on_error none: no such function")
has("snapshots", text, "snapshots were not written")

assert(trace.start { file = path("s.bin"), only_slow = "M.none=1ms" })
quick()
_, text = assert(trace.stop())
has("only_slow", text, "only_slow M.none: no such function was seen (a function that is defined as M.none may be known as none; CHUNK")

-- Nothing to say.
assert(trace.start { file = path("t.bin"), only_slow = "slow=1ms" })
slow()
_, text = assert(trace.stop())
check.equal("without remarks", text, nil)

-- The recording goes on for the program, but not the file: reports say so.
assert(trace.start { max_size = "300K" })
for _ = 1, 200 do
  for _ = 1, 10000 do quick() end
  _, text = assert(trace.report())
  if text then break end
end
has("max_size", text, "max_size 307,200 was reached")
assert(not text:find("/proc", 1, true), text)
has("stats", trace.stats().messages, "max_size 307,200 was reached")
has("stop", select(2, assert(trace.stop())), "max_size 307,200 was reached")
