// SPDX-License-Identifier: MIT
// From what FilteredProfile sees of single calls to slices on tracks (call_writer.h).
//
// A slice that begins before --time-range may end before it, too: it is written when something
// happens on its track within the range.
//
// Invariant: the slices of a track are written in the order of time, each with its end, the inner
// ones first; every one that is begun is ended.
#pragma once

#include <array>
#include <unordered_map>
#include <vector>

#include "analyzer/aggregate/filtered_profile.h"
#include "analyzer/decode/grow_array.h"
#include "analyzer/export/call_writer.h"
#include "analyzer/export/running_chain.h"

namespace luatrace {

class CallLog : public CallObserver {
 public:
  using Namer = std::function<FrameName(uint32_t function)>;

  // Calls that are cut by the plan's range of ticks are cut there. What a coroutine does without a
  // call of its own is part of the call that resumed it only if coroutines are linked.
  CallLog(CallWriter& writer, const TraceFacts& facts, const FilterPlan& plan, Namer namer)
      : writer_(writer),
        facts_(facts),
        from_(plan.from),
        to_(plan.to),
        own_stacks_(plan.options->mode != CoroutineMode::kLinked ||
                    plan.options->group == GroupBy::kCoroutine),
        namer_(std::move(namer)) {}

  void opened(const Coroutine& co, uint32_t stream, uint32_t tid, uint32_t function,
              uint64_t now) override;
  void closed(const Coroutine& co, uint32_t stream, uint64_t now) override;
  void moved(const Coroutine& co, uint32_t stream, uint32_t tid, uint64_t now,
             const std::vector<Open>& open) override;
  void spend(FilteredProfile::Machine& machine, uint32_t stream, uint64_t from, uint64_t to,
             Owner owner) override;
  void gone(const Coroutine& co, uint32_t stream, uint64_t now) override;

  void finish();
  // Numbers go on behind those of the file before.
  void number_from(uint64_t tracks, uint32_t functions, uint64_t flows) {
    tracks_count_ = tracks, functions_count_ = functions, flows_ = flows;
  }
  uint64_t tracks() const { return tracks_count_; }
  uint32_t functions() const { return functions_count_; }
  uint64_t flows() const { return flows_; }

 private:
  enum class State : uint8_t { kOwn, kResumed, kSuspended, kFiltered, kUnknown };
  struct Frame {
    uint64_t running_begin = 0, self = 0;
    uint32_t depth = 0;  // In its coroutine; of a slice that is no call that of the call below.
    uint32_t function = 0;
    bool marker = false;  // No call, but a slice that says why the coroutine does nothing itself.
  };
  struct Lane {
    Track track;
    uint32_t other = 0;  // kResumed: whom.
    State state = State::kOwn;
    uint64_t woke = 0;  // When it last ceased to be suspended.
    // As of the last moment within the range: ticks it had been suspended, and since when it is.
    uint64_t suspended = 0, left = UINT64_MAX;
    GrowArray<Frame> open;  // At most the innermost is a marker, ...
    Slice marker;           // ... this one.
    // The outermost so many of `open` are written; the others begin before the range, ...
    uint32_t written = 0;
    bool early = false;  // ... and running_begin of calls among `open` is not known yet.
    bool has_calls() const { return open.size() > (open.empty() || !open.back().marker ? 0 : 1); }
  };
  struct Chain : RunningChain<Lane> {
    uint64_t links = 0;  // StackMachine::links() when it was made.
  };
  static uint64_t key(uint32_t stream, uint32_t coroutine) {
    return uint64_t{stream} << 32 | coroutine;
  }

  std::shared_ptr<const std::string> command(uint32_t process);
  Lane* find(uint32_t stream, uint32_t coroutine);
  Lane& lane(uint32_t stream, uint32_t coroutine, uint32_t tid);
  uint64_t running_clock(const Lane& lane, const Coroutine& co, uint64_t now) const;
  uint64_t clip(uint64_t tick) const { return std::clamp(tick, from_, to_); }
  uint64_t own_ns(uint32_t number, uint64_t ticks);
  uint64_t ns(uint64_t tick) const;
  void arrive(Lane& lane, uint64_t flow, uint64_t tick);
  void write_begin(Lane& lane, uint64_t tick);
  void write_open(Lane& lane, uint64_t tick);
  void enter_range(Lane& lane, const Coroutine& co);
  void begin_call(Lane& lane, const Coroutine& co, Open call, uint64_t now);
  void end_call(Lane& lane, const Coroutine& co, uint64_t now);
  void push(Lane& lane, Frame frame, uint64_t tick);
  void end(Lane& lane, uint64_t tick, uint64_t running);
  void end_marker(Lane& lane, uint64_t tick);
  static void wake(Lane& lane, uint64_t tick) {
    if (lane.state == State::kSuspended) lane.woke = tick;
  }
  void set_state(Lane& lane, State state, uint32_t other, uint64_t tick, uint64_t flow = 0);
  void switched(FilteredProfile::Machine& machine, uint32_t stream, Chain& chain, uint64_t tick);
  bool follow(FilteredProfile::Machine& machine, Chain& chain, Lane* to, bool resumes,
              uint64_t tick, uint64_t flow);
  void make_again(FilteredProfile::Machine& machine, uint32_t stream, Chain& chain, uint64_t tick,
                  uint64_t flow);
  void arrived(const Coroutine& co, Lane* lane, uint64_t tick) const;
  void suspend(Lane& lane, uint64_t tick, uint64_t flow);
  void mark_waiting(Chain& chain, size_t place, uint64_t tick, uint64_t flow = 0);
  void mark_changed(Chain& chain, std::array<size_t, 3> places, uint64_t tick, uint64_t flow);
  void calls_changed(Chain& chain, uint32_t coroutine, uint64_t tick, uint64_t flow = 0);
  uint32_t number_of(uint32_t function);

  CallWriter& writer_;
  const TraceFacts& facts_;
  uint64_t from_, to_;
  const bool own_stacks_;
  Namer namer_;
  std::unordered_map<uint64_t, Lane> lanes_;
  std::unordered_map<uint32_t, Chain> chains_;  // By stream.
  std::vector<uint32_t> numbers_;               // By function of the file: of define(), 0: none.
  std::vector<uint64_t> own_;                   // By number: ticks of self time written so far.
  // By number of the process, 0: not known.
  std::unordered_map<uint32_t, std::shared_ptr<const std::string>> commands_;
  uint64_t tracks_count_ = 0, flows_ = 0;
  uint32_t functions_count_ = 0;
};

}  // namespace luatrace
