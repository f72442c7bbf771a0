// SPDX-License-Identifier: MIT
// HitStream: one Lua VM. Keeps the stack of each of its coroutines as the hits report them, and
// writes the words that the VM itself would have written.
//
// Why a model of the stacks is needed: an unwind names a stack slot, but its word needs the number
// of calls; the VM reports a switch of coroutines only by another L; and the slot offsets prove
// gaps that nothing else reports (an event at offset x ends every call at or above x).
//
// Invariant: nothing from before a gap (epoch) is used after it, neither in words nor to judge
// hits.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/hits/hit_words.h"

namespace luatrace {

struct HitCall {
  uint32_t frame;  // Slot offset.
  uint32_t id;     // Of the function, in the stream.
  bool operator==(const HitCall&) const = default;
};

struct HitCoroutine {
  uint32_t number = 0;   // In the stream.
  uint32_t vm_id = 0;    // The VM's number; 0: not known.
  uint32_t epoch = 0;    // The stack is known while this is the stream's epoch ...
  bool complete = true;  // ... and down to the bottom if this is true.
  bool resumed = false;
  bool reported = false;  // By an LTX_STACK record.
  uint32_t resumer = 0;   // Its number; 0: not known.
  std::vector<HitCall> calls;
};

class HitStream {
 public:
  // Writes the STREAM block.
  HitStream(TraceWriter& writer, HitCounters& counters, uint32_t number,
            const lt_stream_info& info);

  uint32_t number() const { return number_; }
  uint64_t state() const { return state_; }
  void set_state(uint64_t state) { state_ = state; }
  bool stopped() const { return stopped_; }

  // A coroutine seen for the first time. empty: it certainly has no calls yet.
  HitCoroutine make_coroutine(uint32_t vm_id, bool empty);
  // The VM has just been opened: nothing of it was missed.
  void opened() { attached_ = false; }
  // Is there no gap since the VM was opened or (attached_) since the first report?
  bool complete() const { return epoch_ == 1; }
  // Does an unknown coroutine prove a gap?
  bool proves_gaps() const { return complete() && !attached_; }
  // A hit proves that an earlier one was missed.
  void odd(uint64_t time);

  // Events, in the order of time. tid: the thread on which they happened.
  void thread(uint32_t tid, uint64_t time);
  void entry(HitCoroutine& co, const Hit& hit, uint32_t id);
  void leave(HitCoroutine& co, const Hit& hit, uint32_t id);
  void unwind(HitCoroutine& co, const Hit& hit);
  void create(HitCoroutine* by, HitCoroutine& co, uint64_t time);
  void resume(HitCoroutine* by, HitCoroutine& co, uint64_t time);
  void suspend(HitCoroutine& co, uint64_t time, uint32_t status);
  void collect(HitCoroutine& co, uint64_t time);
  void stack(HitCoroutine& co, const Hit& hit);
  void loss(uint64_t count, uint64_t since, uint64_t time);
  void stop(uint64_t time, uint32_t reason);

  // For function ids, and for flushing.
  HitWords& words() { return words_; }
  uint64_t lost() const { return lost_; }

 private:
  void begin(uint64_t time);
  void prepare(uint64_t time);
  void activate(HitCoroutine& co, uint64_t time);
  void refresh(HitCoroutine& co);
  void end_report(uint64_t time);
  void write_report(HitCoroutine& co);
  void find_bottom(HitCoroutine& co, const Hit& hit);

  HitCounters& counters_;
  uint32_t number_;
  uint64_t state_;
  uint32_t tid_;
  uint32_t flags_;
  HitWords words_;
  uint32_t next_coroutine_ = 1;
  uint32_t current_ = 0;  // Number of the running coroutine; 0: not known.
  uint32_t epoch_ = 1;
  uint64_t lost_ = 0;
  bool begun_ = false, stopped_ = false;
  // The VM existed before the tracer. It reports a coroutine's stack when that first runs; reports
  // made while the tracer was attaching are lost. So there may be coroutines whose stacks are not
  // known although nothing counts as lost.
  bool attached_ = true;
  // A stack report is being collected: `left_` calls are still to come.
  uint32_t left_ = 0;
  uint32_t report_co_ = 0;
  uint32_t report_reason_ = 0;
  uint64_t report_time_ = 0;
  std::vector<HitCall> known_;  // The stack before the report.
};

}  // namespace luatrace
