// SPDX-License-Identifier: MIT
// The ring of a Lua state of another process, opened for reading and writing.
// Invariant: what is returned is a memfd that the process itself has made, for that very state and
// recording; nothing else that the process names is opened but to be looked at (O_PATH).
#pragma once

#include <memory>
#include <string>

#include "recorder/drain/ring_memory.h"
#include "recorder/vm/target.h"

namespace luatrace::record::direct {

// s: as read from target a moment ago. Nothing: there is no such ring (any more, or yet); or it is
// not usable, then why says so.
std::unique_ptr<RingMemory> open_ring(const vm::Target& target, const vm::State& s,
                                      std::string& why);

}  // namespace luatrace::record::direct
