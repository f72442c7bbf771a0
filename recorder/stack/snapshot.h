// SPDX-License-Identifier: MIT
// Snapshot: the Lua stacks of a running process, at one moment. Invariants: nothing is written into
// the process; no system call of it is interrupted: running threads are stopped, and those that
// sleep must not have run meanwhile, else it is done again; a thread is stopped for kStopNs or
// less, and whatever happens to us, the kernel lets it go. Everything that was not seen is in
// `notes`.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "recorder/stack/vm.h"
#include "recorder/vm/attached.h"
#include "recorder/vm/lua_image.h"

namespace luatrace::record::stack {

// Names of calls. What has been asked for once needs no memory of the process any more.
class Names {
 public:
  explicit Names(Prototypes& protos) : protos_(protos) {}
  // The name of the i-th call; empty: it has none.
  const std::string& of(const Calls& calls, size_t i);

 private:
  struct Place {
    const Proto* proto = nullptr;
    uint32_t position = 0;
    bool operator==(const Place&) const = default;
  };
  struct Hash {
    size_t operator()(const Place& p) const {
      return std::hash<const void*>()(p.proto) ^ size_t { p.position } * 0x9e3779b97f4a7c15ull;
    }
  };
  Prototypes& protos_;
  std::unordered_map<const Proto*, std::string> defined_;
  std::unordered_map<Place, std::string, Hash> called_;
};

struct VmStacks {
  uint32_t number = 0;  // in the process
  std::vector<Coroutine> coroutines;
};

// One LuaJIT of a process.
struct ImageStacks {
  Layout layout;
  std::unique_ptr<Memory> memory;
  std::unique_ptr<Prototypes> protos;
  std::unique_ptr<Names> names;
  std::vector<VmStacks> vms;
};

struct Stacks {
  pid_t pid = 0;
  uint64_t stopped_ns = 0;  // 0: all its threads slept
  std::vector<std::unique_ptr<ImageStacks>> images;
  std::vector<std::string> notes;  // sentences
};

constexpr uint64_t kStopNs = 60'000'000;

Attached read_stacks(pid_t pid, Stacks& stacks);

}  // namespace luatrace::record::stack
