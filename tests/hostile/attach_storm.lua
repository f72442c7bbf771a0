-- SPDX-License-Identifier: MIT
-- attach_storm.lua PROGRAM FOLDER: runs PROGRAM again and again, until there is a file FOLDER/end, and
-- compares what it prints each time with the first time. Prints how often it ran.
local program, folder = arg[1], arg[2]
local function exists(name)
  local f = io.open(folder .. "/" .. name)
  if f then f:close() end
  return f ~= nil
end
local function output_of(chunk)
  local text = {}
  local function note(...)
    local words = {}
    for i = 1, select("#", ...) do words[i] = tostring((select(i, ...))) end
    text[#text + 1] = table.concat(words, "\t")
  end
  setfenv(chunk, setmetatable({print = note}, {__index = _G}))()
  return table.concat(text, "\n")
end
local wanted
local rounds = 0
local stop = os.time() + 400 -- if the test has failed
repeat
  local got = output_of(assert(loadfile(program)))
  wanted = wanted or got
  rounds = rounds + 1
  if rounds == 1 then io.open(folder .. "/ready", "w"):close() end
  if got ~= wanted then
    io.stdout:write("round ", rounds, " printed\n", got, "\nbut the first\n", wanted, "\n")
    os.exit(1)
  end
until exists("end") or os.time() > stop
io.stdout:write(rounds, " rounds\n")
