-- SPDX-License-Identifier: MIT
-- A scheduler that resumes and yields itself gets no calls added: counts with and without recording
-- are the same, and nothing of the module is an event.
local trace, check = require "luatrace", require "check"
local function task(id, out) for i = 1, 3 do out[#out + 1] = id * 10 + i coroutine.yield() end end
local function schedule()
  local out, queue = {}, {}
  for id = 1, 3 do queue[id] = coroutine.create(task) end
  local id = 0
  while #queue > 0 do
    local co = table.remove(queue, 1)
    id = id % 3 + 1
    coroutine.resume(co, id, out)
    if coroutine.status(co) ~= "dead" then queue[#queue + 1] = co end
  end
  return table.concat(out, " ")
end
local plain = schedule()
assert(trace.start { c_functions = "all" })
check.equal("result", schedule(), plain)
trace.section_start("s") trace.section_stop("s") trace.sections() trace.stack() trace.is_running()
trace.section("s", function() end)
trace.pause() trace.resume() trace.dump()
local rows = trace.report()
assert(trace.stop())
check.equal("tasks", check.row(rows, "task").calls, 3)
local own = { start = 1, stop = 1, pause = 1, resume = 1, section = 1, finish = 1, section_start = 1,
  section_stop = 1, sections = 1, report = 1, dump = 1, stack = 1, is_running = 1 }
for _, row in ipairs(rows) do
  assert(not own[row.name:match("[%w_]*$")] or row.name:find("^coroutine%.") or row.name:find("%["), row.name)
  assert(not row.chunk:find("luatrace", 1, true), row.chunk)
end
