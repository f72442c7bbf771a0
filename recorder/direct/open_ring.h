// SPDX-License-Identifier: MIT
// Opens the ring of a Lua VM of another process for reading and writing. Invariant: the result is a
// memfd that the process itself has made, for that very VM and recording; anything else that the
// process names is only examined (O_PATH), not opened.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "recorder/drain/ring.h"
#include "recorder/os/maps.h"
#include "recorder/vm/target.h"

namespace luatrace::record::direct {

// The mappings of one process, read again if one is not among them: opening the rings of many VMs
// reads them once.
class RingMaps {
 public:
  // Returns whether the mapping that begins at `address` looks like a ring.
  bool find(pid_t pid, uint64_t address, Mapping& found);

 private:
  std::vector<Mapping> maps_;
};

// s: just read from target. Null: there is no such ring (any more, or yet); or it is not usable,
// then `why` says so.
std::unique_ptr<RingMemory> open_ring(const vm::Target& target, const vm::State& s, RingMaps& maps,
                                      std::string& why);

}  // namespace luatrace::record::direct
