-- SPDX-License-Identifier: MIT
-- A small operating system: tasks of several classes pass packets through queues;
-- method calls through metatables, linked lists, polymorphism.
-- bench: size=250000 small=600
local n = tonumber((...)) or 250000

local Queue = {}
Queue.__index = Queue
function Queue.new() return setmetatable({head = nil, tail = nil, length = 0}, Queue) end
function Queue:push(packet)
  packet.next = nil
  if self.tail then self.tail.next = packet else self.head = packet end
  self.tail = packet
  self.length = self.length + 1
end
function Queue:pop()
  local packet = self.head
  if packet then
    self.head = packet.next
    if not self.head then self.tail = nil end
    self.length = self.length - 1
  end
  return packet
end

local Task = {}
Task.__index = Task
function Task.init(self, name) self.name, self.inbox, self.ran = name, Queue.new(), 0; return self end
function Task:ready() return self.inbox.length > 0 end
function Task:step(system)
  self.ran = self.ran + 1
  return self:handle(self.inbox:pop(), system)
end

local function class(parent)
  local c = setmetatable({}, {__index = parent})
  c.__index = c
  return c
end

local Worker = class(Task)
function Worker.new(name) return Task.init(setmetatable({sum = 0}, Worker), name) end
function Worker:handle(packet, system)
  for i = 1, 4 do
    packet.data[i] = (packet.data[i] * 7 + i) % 256
    self.sum = (self.sum + packet.data[i]) % 65536
  end
  packet.hops = packet.hops + 1
  return system:send(packet.hops % 3 == 0 and "device" or "router", packet)
end

local Router = class(Task)
function Router.new(name) return Task.init(setmetatable({turn = 0}, Router), name) end
function Router:handle(packet, system)
  self.turn = self.turn + 1
  return system:send(self.turn % 2 == 0 and "worker1" or "worker2", packet)
end

local Device = class(Task)
function Device.new(name) return Task.init(setmetatable({seed = 7}, Device), name) end
function Device:handle(packet, system)
  self.seed = (self.seed * 1309 + 13849) % 65536
  packet.data[self.seed % 4 + 1] = self.seed % 256
  return system:send("router", packet)
end

local System = {}
System.__index = System
function System.new()
  local self = setmetatable({tasks = {}, byname = {}, sent = 0}, System)
  for _, task in ipairs {Worker.new("worker1"), Worker.new("worker2"), Router.new("router"),
                         Device.new("device")} do
    self.tasks[#self.tasks + 1] = task
    self.byname[task.name] = task
  end
  return self
end
function System:send(name, packet)
  self.sent = self.sent + 1
  self.byname[name].inbox:push(packet)
end
function System:run(limit)
  local tasks = self.tasks
  while self.sent < limit do
    for i = 1, #tasks do
      local task = tasks[i]
      if task:ready() then task:step(self) end
    end
  end
end

local system = System.new()
for i = 1, 6 do system:send("router", {hops = i, data = {i, i + 1, i + 2, i + 3}}) end
system:run(n)
for _, task in ipairs(system.tasks) do io.write(task.name, " ", task.ran, " ") end
print(system.byname.worker1.sum, system.byname.worker2.sum)
