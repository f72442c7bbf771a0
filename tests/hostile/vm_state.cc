// SPDX-License-Identifier: MIT
// What tracers have left in a process: `vm_state PID` prints one line,
//   owner=0|1 ring=N settings=0|1 states=N on=N patched=N
// owner: somebody claims it; settings: a pattern or a class of C functions other than the default;
// on: Lua states that are traced; patched: slots of their dispatch tables that poll. It only reads.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "recorder/vm/lua_image.h"
#include "recorder/vm/target.h"

using namespace luatrace::record;

namespace {

// Slots that a state which is not traced would not have.
size_t patched(const LuaImage& image, const RemoteMemory& memory, uint64_t state) {
  std::vector<uint64_t> slots(image.note.nslots);
  const uint64_t table = state + static_cast<uint64_t>(int64_t{image.note.dispatch});
  if (memory.read(table, slots.data(), slots.size() * sizeof slots[0]) != 0) return slots.size();
  size_t n = 0;
  for (const uint64_t slot : slots) n += slot == image.poll ? 1 : 0;
  return n;
}

}  // namespace

int main(int argc, char** argv) {
  const pid_t pid = argc > 1 ? std::atoi(argv[1]) : 0;
  const LuaSearch search = find_lua(pid);
  if (search.ours.size() != 1) return std::puts("no LuaJIT of ours"), 1;
  const vm::Target target(pid, search.ours[0]);
  lt_control c;
  std::vector<vm::State> states;
  if (target.memory().read(target.image().control, c) != 0 || !target.read_states(states))
    return std::puts("not readable"), 1;
  size_t on = 0, slots = 0;
  for (const auto& s : states) {
    on += s.on != 0 ? 1 : 0;
    slots += patched(target.image(), target.memory(), s.address);
  }
  const bool settings = c.include[0] != 0 || c.exclude[0] != 0 || c.cfuncs != LTC_DEFAULT;
  std::printf("owner=%d ring=%u settings=%d states=%zu on=%zu patched=%zu\n", c.owner != 0,
              unsigned{c.ring}, settings ? 1 : 0, states.size(), on, slots);
  return 0;
}
