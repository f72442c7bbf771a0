// SPDX-License-Identifier: MIT
// Walk: the calls on the stack of one coroutine, by the links between its frames. Invariants: each
// step goes down, so every walk ends; what contradicts LuaJIT's layout ends it, marked as broken.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "recorder/stack/layout.h"
#include "recorder/stack/memory.h"
#include "recorder/stack/proto.h"

namespace luatrace::record::stack {

// The kind of a frame, in the low bits of its link (FRAME_* of LuaJIT's lj_frame.h).
enum Link : uint64_t { kLuaFrame = 0, kContinuationFrame = 2, kVarargFrame = 3 };
constexpr uint64_t kFrameTypeMask = 7;

enum class Callee : uint8_t { kLua, kC, kBuiltin, kUnknown };

struct Call {
  Callee kind = Callee::kUnknown;
  const Proto* proto = nullptr;     // kLua
  uint64_t address = 0;             // kC
  uint32_t position = kNoPosition;  // of the instruction that it executes
  bool named_by_caller = false;     // the next call of the list has called it by an instruction
  bool about = false;               // compiled code: the position is that of its last checkpoint
};

struct Calls {
  std::vector<Call> list;  // the innermost first
  uint64_t more = 0;       // outer calls that are not in it
  bool broken = false;     // something is not as it should be
  bool operator==(const Calls&) const = default;
};
inline bool operator==(const Call& a, const Call& b) {
  return a.kind == b.kind && a.proto == b.proto && a.address == b.address &&
         a.position == b.position && a.about == b.about;
}

// Where a coroutine is.
struct Top {
  uint64_t base = 0;  // of its innermost frame
  uint64_t pc = 0;    // after the instruction that it executes; 0: not known, or not Lua
  bool about = false;
  bool listed = false;  // the call in that frame is in the list already
};

class Walk {
 public:
  Walk(Memory& memory, const Layout& layout, Prototypes& protos)
      : memory_(memory), layout_(layout), protos_(protos) {}

  // The function in the frame at that base; kind kUnknown and broken() if there is none.
  Call call_at(uint64_t base, uint64_t pc);
  // The function that has that address.
  Call function(uint64_t address, uint64_t pc);
  // Appends the calls from `top` down to the bottom of the stack that begins at that address.
  void append(Calls& calls, Top top, uint64_t stack);
  // Is that a frame of that stack whose function contains that pc?
  bool is_plausible(Top top, uint64_t stack, uint64_t end);

 private:
  struct Step {
    uint64_t base = 0, pc = 0;
    bool by_instruction = false;
  };
  std::optional<Step> down(uint64_t base);

  Memory& memory_;
  const Layout& layout_;
  Prototypes& protos_;
};

// Appends one call, or counts it if there are many. False: it is the Lua module's, not the
// program's, and left out with what it calls by itself.
bool add(Calls& calls, const Call& call);

}  // namespace luatrace::record::stack
