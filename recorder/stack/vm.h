// SPDX-License-Identifier: MIT
// The coroutines of one Lua VM that does not run at the moment. Invariants: only an object that is
// in use is taken for a coroutine (its VM, its stack's first slot, lt_note.L_wait); where the
// running one is follows from the registers in the interpreter, from the trace's snapshots in
// compiled code, and from the coroutine itself in C functions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "recorder/os/stopped.h"
#include "recorder/stack/walk.h"

namespace luatrace::record::stack {

enum class CoroutineState : uint8_t { kRunning, kNormal, kSuspended, kNotStarted, kIdle };

struct Coroutine {
  uint64_t address = 0;
  uint32_t id = 0;  // as in traces; 0: it has none yet
  bool main = false;
  CoroutineState state = CoroutineState::kSuspended;
  uint32_t trace = 0;  // it runs compiled code: the trace's number
  Calls calls;
};

class Vm {
 public:
  // state: the address of its LTState. threads: registers of those that were stopped.
  Vm(Memory& memory, const Layout& layout, Prototypes& protos, uint64_t state,
     const std::vector<Registers>& threads);

  // The coroutine at that address; empty: there is none, or it is dead.
  std::optional<Coroutine> coroutine(uint64_t address);
  // Those that need no search: the main coroutine, and the current one.
  std::vector<uint64_t> known() const { return {main_, current_}; }
  uint64_t global() const { return g_; }
  // Was the running coroutine between two instructions, where nothing is known of its frames?
  bool between() const { return between_; }

 private:
  uint64_t member(uint64_t object, int32_t offset) const;
  bool is_coroutine(uint64_t address) const;
  void walk(Coroutine& c);
  bool in_trace(Coroutine& c);
  bool in_interpreter(Coroutine& c);
  void in_c(Coroutine& c);
  uint64_t stack_of(const Coroutine& c) const { return member(c.address, layout_.note.L_stack); }
  // One checkpoint of a trace: the frames above that of the trace itself, the outermost first.
  struct Inlined {
    uint64_t function = 0, link = 0;
  };
  struct Snapshot {
    uint64_t pc = 0;
    uint64_t function = 0;  // of the trace's own frame, if it has another one now
    std::vector<Inlined> frames;
  };
  // Does that thread run this VM?
  bool runs(const Registers& r) const { return r.vm == dispatch_ || r.vm == g_; }
  uint64_t trace_object(uint32_t number) const;
  uint32_t calling_trace(const Coroutine& c) const;
  uint64_t place_in_trace(const Coroutine& c, uint64_t trace) const;
  bool read_snapshot(uint64_t trace, uint64_t place, Snapshot& s) const;
  bool inlined_calls(Coroutine& c, const Snapshot& s);

  Memory& memory_;
  const Layout& layout_;
  Prototypes& protos_;
  const std::vector<Registers>& threads_;
  Walk walk_;
  uint64_t g_, jit_, dispatch_;
  uint64_t main_ = 0, current_ = 0, jit_base_ = 0;
  int32_t vm_state_ = 0;
  bool between_ = false;
};

}  // namespace luatrace::record::stack
