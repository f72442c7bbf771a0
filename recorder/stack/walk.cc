// SPDX-License-Identifier: MIT
// A frame at `base`: its function is two slots below, one below is its link: the address after the
// call instruction if that called it, else the distance to the frame below and a type (lj_frame.h).
#include "recorder/stack/walk.h"

namespace luatrace::record::stack {
namespace {

constexpr size_t kMaxCalls = 256;        // of one coroutine
constexpr uint64_t kMaxFrames = 300000;  // more than a stack has slots

constexpr uint64_t kLuaMask = 3;
constexpr const char* kHiddenChunk = "=[luatrace]";  // LUATRACE_HIDDEN (luatrace.h)
constexpr uint64_t kFfiCallback = 1;                 // in place of a continuation's address

}  // namespace

// The module's section() calls what it runs by pcall.
bool add(Calls& calls, const Call& call) {
  if (call.kind == Callee::kLua && call.proto->chunk == kHiddenChunk) {
    if (!calls.list.empty() && calls.list.back().kind == Callee::kBuiltin) calls.list.pop_back();
    return false;
  }
  if (calls.list.size() < kMaxCalls)
    calls.list.push_back(call);
  else
    calls.more++;
  return true;
}

Call Walk::function(uint64_t address, uint64_t pc) {
  const lt_note& n = layout_.note;
  Call call;
  uint8_t type = 0, library = 0;
  if (!memory_.read(address + kType, type) || type != kFunction ||
      !memory_.read(address + static_cast<uint64_t>(n.fn_ffid), library))
    return call;
  if (library != 0) {
    call.kind = library == 1 ? Callee::kC : Callee::kBuiltin;
    call.address = memory_.word(address + static_cast<uint64_t>(n.fn_pc) + kSlot);
    return call;
  }
  const uint64_t code = memory_.word(address + static_cast<uint64_t>(n.fn_pc));
  call.proto = protos_.find(code - static_cast<uint64_t>(n.pt_size));
  if (call.proto == nullptr) return call;
  call.kind = Callee::kLua;
  if (pc != 0) call.position = protos_.position(*call.proto, pc);
  return call;
}

Call Walk::call_at(uint64_t base, uint64_t pc) {
  return function(memory_.word(base - 2 * kSlot) & kAddressMask, pc);
}

// The frame below that one, and what its function executes.
std::optional<Walk::Step> Walk::down(uint64_t base) {
  Step to;
  uint64_t link = 0;
  if (!memory_.read(base - kSlot, link)) return std::nullopt;
  if ((link & kFrameTypeMask) ==
      kVarargFrame) {  // The same call has another frame below, with its link.
    const uint64_t lower = base - (link & ~kFrameTypeMask);
    if (lower >= base || !memory_.read(lower - kSlot, link)) return std::nullopt;
    base = lower;
  }
  if ((link & kLuaMask) == kLuaFrame) {
    uint32_t ins = 0;
    if (!memory_.read(link - sizeof ins, ins)) return std::nullopt;
    return Step{base - kSlot * (kFrameSlots + ins_a(ins)), link, true};
  }
  to.base = base - (link & ~kFrameTypeMask);
  if ((link & kFrameTypeMask) == kContinuationFrame &&
      memory_.word(base - 4 * kSlot) > kFfiCallback)
    to.pc = memory_.word(base - 3 * kSlot);
  to.by_instruction = to.pc != 0;  // also compiled code that calls what it cannot compile
  return to.base < base ? std::optional(to) : std::nullopt;
}

void Walk::append(Calls& calls, Top top, uint64_t stack) {
  const uint64_t bottom = stack + kFrameSlots * kSlot;
  Step at{top.base, top.pc, false};
  bool about = top.about, listed = top.listed;
  for (uint64_t i = 0; at.base > bottom && i < kMaxFrames; i++) {
    const uint64_t slot = memory_.word(at.base - 2 * kSlot);
    bool hidden = false;
    if (!listed && !is_tagged(slot, kThread)) {  // else a frame that no function has
      Call call = call_at(at.base, at.pc);
      call.about = about && call.kind == Callee::kLua;
      if (call.kind == Callee::kUnknown) calls.broken = true;
      if (calls.broken) return;
      hidden = !add(calls, call);
      about = false;
    }
    const auto next = down(at.base);
    if (!next) {
      calls.broken = true;
      return;
    }
    listed = false;
    if (!hidden && !calls.list.empty() && calls.more == 0)
      calls.list.back().named_by_caller = next->by_instruction;
    at = *next;
  }
  if (at.base < bottom) calls.broken = true;
}

bool Walk::is_plausible(Top top, uint64_t stack, uint64_t end) {
  if (top.base % kSlot != 0 || top.base < stack + kFrameSlots * kSlot || top.base >= end)
    return false;
  if (!is_tagged(memory_.word(top.base - 2 * kSlot), kFunction)) return false;
  const Call call = call_at(top.base, top.pc);
  return call.kind != Callee::kUnknown &&
         (call.kind != Callee::kLua || call.position != kNoPosition);
}

}  // namespace luatrace::record::stack
