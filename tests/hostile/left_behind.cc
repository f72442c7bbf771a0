// SPDX-License-Identifier: MIT
// What tracers have left in a process; see left_behind.h.
#include "tests/hostile/left_behind.h"

#include <vector>

#include "recorder/os/maps.h"
#include "recorder/os/process.h"
#include "recorder/vm/lua_image.h"
#include "recorder/vm/target.h"

namespace hostile {
namespace {

using namespace luatrace::record;

// Slots that an untraced VM would not have.
size_t patched_slots(const LuaImage& image, const RemoteMemory& memory, uint64_t state) {
  std::vector<uint64_t> slots(image.note.nslots);
  const uint64_t table = state + static_cast<uint64_t>(int64_t{image.note.dispatch});
  if (memory.read(table, slots.data(), slots.size() * sizeof slots[0]) != 0) return slots.size();
  size_t n = 0;
  for (const uint64_t slot : slots) n += slot == image.poll ? 1 : 0;
  return n;
}

}  // namespace

bool look_at(pid_t pid, LeftBehind& left, std::string& why) {
  const LuaSearch search = find_lua(pid);
  if (search.ours.size() != 1) return why = "no LuaJIT of ours", false;
  const vm::Target target(pid, search.ours[0]);
  lt_control c;
  std::vector<vm::State> states;
  if (target.memory().read(target.image().control, c) != 0 || !target.read_states(states))
    return why = "not readable", false;
  left = {};
  left.owner = c.owner != 0;
  left.ring = c.ring;
  left.settings = c.include[0] != 0 || c.exclude[0] != 0 || c.cfuncs != LTC_DEFAULT;
  left.probes = unsigned{c.semaphore} + c.block + c.segments;
  left.states = states.size();
  for (const auto& s : states) {
    left.on += s.on != 0 ? 1 : 0;
    left.patched += patched_slots(target.image(), RemoteMemory(pid), s.address);
  }
  return true;
}

std::string code_of(pid_t pid) {
  const LuaSearch search = find_lua(pid);
  if (search.ours.size() != 1) return "";
  const uint64_t poll = search.ours[0].poll;  // an address in that code
  const RemoteMemory memory(pid);
  for (const Mapping& m : parse_maps(read_proc(pid, "maps", 8u << 20))) {
    if (poll < m.start || poll >= m.end) continue;
    std::string code(m.end - m.start, 0);
    return memory.read(m.start, code.data(), code.size()) == 0 ? code : "";
  }
  return "";
}

}  // namespace hostile
