// SPDX-License-Identifier: MIT
// The Sink that finds calls that did not lead to a function of -C or were shorter than -t. It has
// no call tree: a node is a position in call paths (call_path.h).
//
// Invariant: an open or ended call is dropped unless it led to a function of -C and, as far as is
// known yet, took at least the time of -t. Calls that resumed the coroutine of such a function lead
// to it, too, as soon as time passes in it.
#pragma once

#include <cstdint>
#include <map>

#include "analyzer/filter/call_path.h"
#include "analyzer/filter/verdicts.h"
#include "analyzer/machine/streams.h"

namespace luatrace::analyze {

class LeadingCalls {
 public:
  static constexpr bool kNotes = false;
  static constexpr bool kFrames = true;
  using Machine = StackMachine<LeadingCalls>;

  LeadingCalls(const FilterPlan& plan, const FunctionTable& functions, const SymbolFinder& symbols);
  CallVerdicts verdicts;
  void add(LeadingCalls& other) { verdicts.add(std::move(other.verdicts)); }

  // What the machines call; see machine/machine.h.
  void set_clock(const Clock& clock) { clock_ = clock; }
  void stream(StreamId number);
  uint32_t enter(uint32_t node, FunctionId function) { return path_.enter(node, function); }
  uint32_t enter_base(uint32_t node, FunctionId) { return node & ~CallPath::kTarget; }
  uint32_t enter_again(uint32_t node, uint32_t, FunctionId function) {
    return enter(node, function);
  }
  uint32_t base(const Coroutine& co, const Coroutine* by) const;
  void opened(Coroutine& co, uint64_t, bool) { begin(co, co.top); }
  void closed(Coroutine& co, uint64_t, uint64_t running, bool) {
    if (running != kNotSeen) end(co.notes[co.top], running);
  }
  void add_self_time(Machine& machine, uint64_t from, uint64_t to);
  void suspended(Coroutine& co, uint64_t, uint64_t, bool) { co.epoch++; }
  void attached(Coroutine& co, bool moved, uint64_t) { co.epoch += moved; }
  void gap(uint64_t, uint64_t) {}
  void begins(uint64_t) {}
  void on_thread(ThreadId) {}
  void created(Coroutine&, Coroutine&, uint64_t) {}
  void gone(Coroutine&, uint64_t, Gone) {}

  bool takes_runs() const { return true; }
  bool begin_run(Machine& machine, uint64_t);
  void add_self_time(uint32_t, uint64_t) {}
  void run_opened(Coroutine& co, uint32_t index, uint64_t) { begin(co, index); }
  void run_closed(Coroutine& co, uint32_t index, uint64_t, uint64_t running) {
    if (running != kNotSeen) end(co.notes[index], running);
  }
  void end_run(uint64_t, uint64_t) {}

 private:
  struct Stream {
    StreamVerdicts* verdicts = nullptr;
    Machine* machine = nullptr;  // Known once time has passed.
    CallNumber calls;            // The next call.
  };
  static bool is(const Coroutine& co, uint32_t index, uint32_t place) {
    return co.frames[index].node & place;
  }
  // Whether a call of -C is open and the resumers' calls are not marked as leading to it yet.
  static bool needs_marking(const Coroutine& co) {
    return co.marked_epoch != co.epoch && is(co, co.top, CallPath::kReached);
  }
  void begin(Coroutine& co, uint32_t index);
  void end(const FrameNotes& f, uint64_t running) {
    if (min_ns_ && clock_.ns(running) < min_ns_) stream_->verdicts->drop(f.number, true);
  }
  static uint32_t target_in(const Coroutine& co);
  void mark_leading(Coroutine& co, uint32_t index);

  const uint64_t min_ns_;
  const bool separate_, merged_, by_coroutine_;
  Clock clock_;
  CallPath path_;
  std::map<StreamId, Stream> streams_;
  Stream* stream_ = nullptr;
};

}  // namespace luatrace::analyze
