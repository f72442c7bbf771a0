// SPDX-License-Identifier: MIT
// HitStream: one Lua state. Keeps the stack of each of its coroutines as the hits tell it, and
// writes the words that the VM itself would have written.
//
// Why a model of the stacks is needed: an unwind names a stack slot, the word wants the number of
// calls; the VM tells a change of coroutine only by another L; and the slot offsets prove holes
// that nothing else told (an event at offset x ends every call at or above x).
//
// Invariant: after a hole (epoch) nothing that was known before it is used: neither in words, nor
// to judge later hits.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/hits/hit_words.h"
#include "trace/hits/hit_writer.h"

namespace luatrace {

struct HitCall {
  uint32_t frame;  // Slot offset.
  uint32_t id;     // Of the function, in the stream.
  bool operator==(const HitCall&) const = default;
};

struct HitCoroutine {
  uint32_t number = 0;   // In the stream.
  uint32_t vm_id = 0;    // The VM's number, 0: not known.
  uint32_t epoch = 0;    // The stack is known as far as this is the stream's epoch ...
  bool complete = true;  // ... and to the bottom only if this is true, too.
  bool resumed = false;
  bool reported = false;  // By an LTX_STACK.
  uint32_t resumer = 0;   // Its number, 0: nobody was seen.
  std::vector<HitCall> calls;
};

class HitStream {
 public:
  // Writes the STREAM block.
  HitStream(TraceWriter& writer, HitCounters& counters, uint32_t number, const lt_stream_info& info,
            const HitOptions& options);

  uint32_t number() const { return number_; }
  uint64_t state() const { return state_; }
  void set_state(uint64_t state) { state_ = state; }
  bool stopped() const { return stopped_; }

  // A coroutine that was not seen before. empty: it has no calls yet for certain.
  HitCoroutine make_coroutine(uint32_t vm_id, bool empty);
  // The state was opened just now: nothing of it was missed.
  void opened() { attached_ = false; }
  // Is everything known since the state was opened, or (attached_) since the first report?
  bool whole() const { return epoch_ == 1; }
  // Does a coroutine of which nothing was seen prove a hole?
  bool must_know_all() const { return whole() && !attached_; }
  // A hit proves that one was missed.
  void odd(uint64_t time);

  // Events, in the order of time. tid: the thread they ran on.
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

  // For the ids of functions, and to flush.
  HitWords& words() { return words_; }
  uint64_t lost() const { return lost_; }

 private:
  void begin(uint64_t time);
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
  bool filtered_;
  HitWords words_;
  uint32_t next_coroutine_ = 1;
  uint32_t current_ = 0;  // Number of the coroutine that runs, 0: not known.
  uint32_t epoch_ = 1;
  uint64_t lost_ = 0;
  bool begun_ = false, stopped_ = false;
  // The state was there before us. The VM reports a coroutine's stack when that first runs; what it
  // said while the probes were being attached to went to probes that nobody was at yet. So there
  // may be coroutines whose stacks are not known, though nothing was lost.
  bool attached_ = true;
  // A report of a stack that is being gathered: `left_` calls are still to come.
  uint32_t left_ = 0;
  uint32_t report_co_ = 0;
  uint32_t report_reason_ = 0;
  uint64_t report_time_ = 0;
  std::vector<HitCall> known_;  // The stack before the report.
};

}  // namespace luatrace
