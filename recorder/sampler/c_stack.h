// SPDX-License-Identifier: MIT
// The C functions that are on a copied C stack, part by part: from registers to the next Lua frame.
// Invariant: a function is listed only if the way to it is known.
#pragma once

#include <cstdint>
#include <vector>

#include "recorder/sampler/call_frame.h"
#include "recorder/sampler/modules.h"

namespace luatrace::record::sampler {

struct NativeFrame {
  uint64_t address;
  bool is_return;     // it is after a call
  uint64_t function;  // its begin, 0: not known
};

// Where a part of the stack ends.
enum class PartEnd {
  kOutermost,
  kInterpreter,  // at the interpreter's code
  kNoFile,       // at code of no file, such as LuaJIT's
  kBeyond,       // after `limit`
  kUnknown       // not known: no information, or the copy ends
};

struct PartLimits {
  uint64_t text = 0, text_end = 0;  // the interpreter's code
  uint64_t limit = 0;               // a stack pointer above it has gone too far; 0: none
};

// Appends the functions from those registers on; afterwards these are the ones at the end. exact:
// the address is that of an instruction, not one after a call.
PartEnd unwind(Modules& modules, Registers& r, bool exact, const StackCopy& stack,
               const PartLimits& limits, std::vector<NativeFrame>& out);

}  // namespace luatrace::record::sampler
