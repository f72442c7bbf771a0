// SPDX-License-Identifier: MIT
// SegmentExpander: from segments (struct lt_segment in luatrace_format.h) to the events for which
// they stand, block by block, before anything else looks at them. So all that follows sees the same
// sequence of events as if compiled code had stored each of them.
//
// The time of a word is exact, unless it is that of the record before it: then it has none of its
// own. The events since the last exact time get times in between, in proportion to the machine code
// from one to the next, by its bytes or by other weights (code_weights.h). Cues (segment_body.h)
// tell the stack machine which times these are, and of iterations that it need not see one by one.
//
// Invariants: blocks keep their order, and what damages them stays visible (sequence numbers,
// counts); a word that stands for more events than a VM stores in one, or whose place is not
// described, is counted as malformed, and the calls around it become unknown, as by a loss. No
// word costs more than kMaxEvents.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "analyzer/machine/code_scale.h"
#include "analyzer/machine/loop_times.h"
#include "analyzer/machine/segment_body.h"
#include "analyzer/read/diagnostics.h"
#include "analyzer/read/model.h"
#include "analyzer/read/words.h"

namespace luatrace::analyze {

// Code between two events, which are words without a time; 0: none. What was before the trace is
// looked for on its path.
struct SegmentPiece {
  uint32_t begin, end;  // Offsets in the machine code.
  uint32_t before, after;
};

class SegmentExpander {
 public:
  using Give = std::function<void(const EventBlock&, std::span<const SegmentCue>)>;

  // Code of the trace `id` ran, from an offset to another one.
  using Ran = std::function<void(uint32_t id, uint64_t begin, uint64_t end, uint64_t times)>;

  // Only for follow().
  explicit SegmentExpander(Diagnostics& diagnostics)
      : diag_(diagnostics), weights_(nullptr), unit_(1), loop_times_(1) {}
  // weights: null: by bytes and costs.
  SegmentExpander(Diagnostics& diagnostics, const StreamWeights* weights)
      : diag_(diagnostics),
        weights_(weights),
        unit_(CodeScale::kUnit),
        loop_times_(CodeScale::kUnit) {}

  // False: not after the traces before it.
  bool add(const SegmentInfo& info);
  // Passes on the block with its segments expanded, as one block or more.
  void expand(const EventBlock& block, const Give& give);

  // Instead of expand(): only what ran, in bytes.
  void follow(const EventBlock& block, const Ran& ran);
  // The pieces of the code of that trace, from its beginning to its end.
  std::vector<SegmentPiece> pieces(uint32_t id) const;

 private:
  // A described trace.
  struct Trace {
    uint32_t first = 0, exits = 0, end = 0;  // Ids of its places, and of its exits.
    uint32_t parent = 0;
    uint32_t level = 0;
    bool counts = false, loops = false;
    uint64_t base = 0;                 // Offset of the loop's own code.
    std::vector<uint32_t> before;      // Of each place: events of the iteration,
    std::vector<uint64_t> place;       // and the code.
    std::vector<uint64_t> first_code;  // As body.code, of the first iteration.
    SegmentBody body;                  // Of the others.
  };
  // Events of one trace on a path: `skip` are left out of the first iteration, then whole
  // iterations, then those before `place`.
  struct Part {
    const Trace* trace;
    uint64_t iterations;
    uint32_t skip, place;
    bool resumed;  // The first iteration is not the trace's first one.
    uint32_t rest() const { return trace->before[place]; }
  };
  // Consecutive events of an iteration, `times` times; begin, end: the code that runs for them. If
  // it is all of a balanced iteration, and there is a `first`: one more before, by that code.
  struct Run {
    uint32_t from, to;
    const uint64_t* code;
    uint64_t begin, end;
    uint64_t times = 1;
    const std::vector<uint64_t>* first = nullptr;
    uint64_t bytes() const { return end - begin; }
    uint64_t all_bytes() const { return times * bytes() + (first ? first->back() : 0); }
  };
  // How the time until the next exact one is apportioned: `done` is the code before an event.
  struct Scale {
    uint64_t from;
    unsigned __int128 ticks;  // For each byte of code, << 32.
    uint64_t at(uint64_t done) const { return from + static_cast<uint64_t>((ticks * done) >> 32); }
  };

  void index(const Trace& trace);
  const Trace* find(uint64_t id) const;
  bool plan(uint64_t id, std::span<const uint64_t> counts);
  bool add_part(const Trace& trace, uint32_t place, std::span<const uint64_t> counts);
  uint64_t events_of(const Part& part) const;
  template <class Each>
  void each_run(const Part& part, Each each) const;
  void segment(uint64_t id, std::span<const uint64_t> counts, uint64_t tick);
  void tell_runs() const;
  uint32_t event_before(const Trace& trace) const;
  void segments(const Record& r, uint64_t tick);
  Scale scale_until(uint64_t to);
  size_t index_of(const Trace& trace) const { return static_cast<size_t>(&trace - traces_.data()); }
  void write_run(const Trace& trace, const Run& run, const Scale& scale, uint64_t& done);
  void repeat(const SegmentBody& body, const Run& run, const Scale& scale, uint64_t& done);
  void write_pending(uint64_t tick);
  void lose(uint64_t tick, uint64_t id);
  void record(const Record& r);
  void begin(const EventBlock& block);
  void give_piece();

  Diagnostics& diag_;
  const StreamWeights* const weights_;
  const uint64_t unit_;          // Weight of a byte.
  const Ran* ran_ = nullptr;     // While follow() runs.
  LoopTimes loop_times_;         // By the index of the trace.
  std::vector<Trace> traces_;    // In the order of their ids.
  std::vector<uint32_t> by_id_;  // Of each place: the index of its trace + 1, or 0.
  // The path goes on after a place inside a trace: 0: no.
  uint32_t mark_ = 0;
  std::vector<Part> parts_;    // Of a word, innermost first, ...
  uint64_t parts_events_ = 0;  // ... and their events.
  std::vector<Part> pending_;  // Of words without a time of their own, in order.
  uint64_t pending_events_ = 0;
  uint64_t now_ = 0;  // Of the record before.
  bool knows_time_ = false;
  uint32_t next_in_ = 0, next_out_ = 0;  // Sequence numbers of blocks.
  uint32_t flags_ = 0;                   // Of a block of which nothing was passed on.
  // Of the current block.
  EventBlock piece_;
  std::vector<uint64_t> out_;
  std::vector<SegmentCue> cues_;
  const Give* give_ = nullptr;
  uint64_t records_out_ = 0;
};

}  // namespace luatrace::analyze
