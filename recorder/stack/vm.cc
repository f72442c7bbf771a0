// SPDX-License-Identifier: MIT
#include "recorder/stack/vm.h"

#include <algorithm>
#include <cstring>

namespace luatrace::record::stack {
namespace {

constexpr uint64_t kMaxInterpreter = 64 << 10;  // bytes of its code, at most
constexpr uint64_t kFrameFlags = 3;             // in addresses of C frames
constexpr uint32_t kSnapshotFrame = 0x10000;    // this slot is a frame's link
constexpr int kSlotShift = 24;
constexpr uint32_t kFirstVariable = 0x8000;  // smaller references are constants, after their head
constexpr uint64_t kIns = 8;                 // bytes of an instruction of the intermediate code
constexpr uint32_t kMaxTraces = 8192;        // that are looked at
constexpr uint64_t kCode = 4;                // bytes of an instruction of the interpreter
constexpr uint64_t kSideExit = 16;           // see place_in_trace()
enum Status : uint8_t { kOk = 0, kYield = 1 };

uint64_t offset(int32_t of) {
  return static_cast<uint64_t>(int64_t{of});
}

}  // namespace

Vm::Vm(Memory& memory, const Layout& layout, Prototypes& protos, uint64_t state,
       const std::vector<Registers>& threads)
    : memory_(memory),
      layout_(layout),
      protos_(protos),
      threads_(threads),
      walk_(memory, layout, protos),
      g_(state + offset(layout.note.g)),
      jit_(state + offset(layout.note.jit)),
      dispatch_(state + offset(layout.note.dispatch)) {
  const lt_note& n = layout.note;
  main_ = member(g_, n.g_mainthref);
  current_ = member(g_, n.g_cur_L);
  jit_base_ = member(g_, n.g_jit_base);
  memory_.read(g_ + offset(n.g_vmstate), vm_state_);
}

uint64_t Vm::member(uint64_t object, int32_t of) const {
  return memory_.word(object + offset(of));
}

bool Vm::is_coroutine(uint64_t address) const {
  const lt_note& n = layout_.note;
  uint8_t type = 0;
  return address != 0 && address % kSlot == 0 && memory_.read(address + kType, type) &&
         type == kThread && member(address, n.L_glref) == g_ &&
         member(address, n.L_wait) != LT_WAIT_FREED &&
         memory_.word(member(address, n.L_stack)) ==
             ((~uint64_t{kThread} << kTagShift) | (address & kAddressMask));
}

std::optional<Coroutine> Vm::coroutine(uint64_t address) {
  const lt_note& n = layout_.note;
  if (!is_coroutine(address)) return std::nullopt;
  Coroutine c;
  c.address = address;
  c.main = address == main_;
  uint8_t status = 0;
  memory_.read(address + offset(n.L_status), status);
  memory_.read(address + offset(n.L_id), c.id);
  if (status > kYield) return std::nullopt;
  const bool active = member(address, n.L_cframe) != 0;
  const uint64_t base = member(address, n.L_base), top = member(address, n.L_top);
  if (active)
    c.state = address == current_ ? CoroutineState::kRunning : CoroutineState::kNormal;
  else if (status == kYield)
    c.state = CoroutineState::kSuspended;
  else if (c.main)
    c.state = CoroutineState::kIdle;
  else if (top > base && is_tagged(memory_.word(base), kFunction))
    c.state = CoroutineState::kNotStarted;
  else
    return std::nullopt;  // it has ended
  walk(c);
  return c;
}

void Vm::walk(Coroutine& c) {
  const uint64_t base = member(c.address, layout_.note.L_base);
  if (c.state == CoroutineState::kNotStarted) {
    Call call = walk_.function(memory_.word(base) & kAddressMask, 0);
    call.position = 0;
    c.calls.broken = call.kind == Callee::kUnknown;
    if (!c.calls.broken) add(c.calls, call);
  } else if (c.state != CoroutineState::kRunning) {
    walk_.append(c.calls, {base, 0, false}, stack_of(c));
  } else if (jit_base_ != 0 ? !in_trace(c) : !in_interpreter(c)) {
    in_c(c);
  }
}

// In a C function, or in a function of the VM's that the interpreter has called.
void Vm::in_c(Coroutine& c) {
  const lt_note& n = layout_.note;
  Top top{member(c.address, n.L_base), 0, false};
  const uint64_t frame = member(c.address, n.L_cframe) & ~kFrameFlags;
  if (walk_.call_at(top.base, 0).kind == Callee::kLua) {
    top.pc = member(frame, n.cframe_pc);
    top.about = true;
    if (!walk_.is_plausible(top, stack_of(c), member(c.address, n.L_maxstack))) top.pc = 0;
  }
  walk_.append(c.calls, top, stack_of(c));
}

bool Vm::in_interpreter(Coroutine& c) {
  for (const Registers& r : threads_) {
    if (!runs(r) || r.pc - layout_.vm_begin >= kMaxInterpreter) continue;
    const Top top{r.base, r.bytecode, false};
    // Some instructions are between two frames: then a moment later is better.
    between_ = !walk_.is_plausible(top, stack_of(c), member(c.address, layout_.note.L_maxstack));
    if (!between_) walk_.append(c.calls, top, stack_of(c));
    return !between_;
  }
  return false;
}

// -- Compiled code --

uint64_t Vm::trace_object(uint32_t number) const {
  const lt_note& n = layout_.note;
  uint32_t size = 0;
  if (!memory_.read(jit_ + offset(n.jit_sizetrace), size) || number >= size) return 0;
  const uint64_t trace = memory_.word(member(jit_, n.jit_trace) + uint64_t{number} * kSlot);
  uint8_t type = 0;
  return trace != 0 && memory_.read(trace + kType, type) && type == kTrace ? trace : 0;
}

// The offset in the trace's machine code; UINT64_MAX: not known. If it has called a C function,
// that returns to an address at a fixed place of the C stack.
uint64_t Vm::place_in_trace(const Coroutine& c, uint64_t trace) const {
  const lt_note& n = layout_.note;
  const uint64_t code = member(trace, n.trace_mcode);
  uint32_t size = 0;
  uint16_t adjust = 0;
  memory_.read(trace + offset(n.trace_szmcode), size);
  memory_.read(trace + offset(n.trace_spadjust), adjust);
  for (const Registers& r : threads_)
    if (runs(r) && r.pc - code < size) return r.pc - code;
  const uint64_t frame = member(c.address, n.L_cframe) & ~kFrameFlags;
  const uint64_t back = memory_.word(frame - kSideExit - adjust - kSlot);
  return back - code - 1 < size ? back - code - 1 : UINT64_MAX;
}

// In a step of the collector: the trace from which it was called. 0: not found.
uint32_t Vm::calling_trace(const Coroutine& c) const {
  uint32_t size = 0;
  memory_.read(jit_ + offset(layout_.note.jit_sizetrace), size);
  for (uint32_t i = 1; i < std::min(size, kMaxTraces); i++)
    if (const uint64_t trace = trace_object(i);
        trace != 0 && place_in_trace(c, trace) != UINT64_MAX)
      return i;
  return 0;
}

// The last snapshot before that place.
bool Vm::read_snapshot(uint64_t trace, uint64_t place, Snapshot& s) const {
  const lt_note& n = layout_.note;
  uint16_t count = 0;
  memory_.read(trace + offset(n.trace_nsnap), count);
  uint64_t at = member(trace, n.trace_snap), best = 0;
  for (uint16_t i = 0; i < count; i++, at += offset(n.snap_size)) {
    uint16_t begin = 0;
    if (!memory_.read(at + offset(n.snap_mcofs), begin) || begin > place) break;
    best = at;
  }
  uint32_t map = 0;
  uint8_t entries = 0;
  if (best == 0 || !memory_.read(best + offset(n.snap_mapofs), map) ||
      !memory_.read(best + offset(n.snap_nent), entries))
    return false;
  const uint64_t first = member(trace, n.trace_snapmap) + sizeof(uint32_t) * uint64_t{map};
  const uint64_t ir = member(trace, n.trace_ir);
  uint64_t below = 0;  // the slot before the current one, if it is a constant
  s.pc = memory_.word(first + sizeof(uint32_t) * uint64_t{entries}) >> 8;
  for (uint32_t i = 0, last = 0; i < entries; i++) {
    uint32_t entry = 0;
    if (!memory_.read(first + sizeof entry * uint64_t{i}, entry)) return false;
    const uint32_t slot = entry >> kSlotShift, reference = entry & 0xffff;
    const uint64_t value =
        reference < kFirstVariable ? memory_.word(ir + (reference + 1ull) * kIns) : 0;
    if (slot == 0) s.function = value;
    if ((entry & kSnapshotFrame) != 0 && slot > 1)
      s.frames.push_back({slot == last + 1 ? below : 0, value});
    below = value;
    last = slot;
  }
  return true;
}

// The calls that the trace has inlined, and those below its base.
bool Vm::inlined_calls(Coroutine& c, const Snapshot& s) {
  uint64_t pc = s.pc;
  bool about = true, listed = false;
  for (auto f = s.frames.rbegin(); f != s.frames.rend(); ++f) {
    Call call = walk_.function(f->function, pc + kCode);
    if (call.kind == Callee::kUnknown && (call.proto = protos_.find_by_code(pc)) != nullptr) {
      call.kind = Callee::kLua;
      call.position = protos_.position(*call.proto, pc + kCode);
    }
    if (call.kind == Callee::kUnknown) return false;
    call.about = about;
    if (!listed) add(c.calls, call);
    about = false;
    listed = (f->link & kFrameTypeMask) == kVarargFrame;  // the frame below is of the same call
    if ((f->link & kFrameFlags) != 0) continue;
    c.calls.list.back().named_by_caller = true;
    pc = f->link - kCode;
  }
  Top top{jit_base_, pc + kCode, about, listed};
  // A tail call has replaced the function of the trace's own frame.
  if (const Call call = walk_.function(s.function, top.pc); !listed && call.kind == Callee::kLua) {
    add(c.calls, call);
    c.calls.list.back().about = about;
    top.listed = true;
  }
  walk_.append(c.calls, top, stack_of(c));
  return !c.calls.broken;
}

bool Vm::in_trace(Coroutine& c) {
  const lt_note& n = layout_.note;
  c.trace = vm_state_ > 0 ? static_cast<uint32_t>(vm_state_) : calling_trace(c);
  const uint64_t trace = trace_object(c.trace);
  const Top start{jit_base_, trace != 0 ? member(trace, n.trace_startpc) + 4 : 0, true};
  const uint64_t place = trace != 0 ? place_in_trace(c, trace) : UINT64_MAX;
  Snapshot snapshot;
  if (place != UINT64_MAX && read_snapshot(trace, place, snapshot) && inlined_calls(c, snapshot))
    return true;
  c.calls = {};
  walk_.append(c.calls, start, stack_of(c));
  return true;
}

}  // namespace luatrace::record::stack
