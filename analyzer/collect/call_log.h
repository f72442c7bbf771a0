// SPDX-License-Identifier: MIT
// Converts the single calls that FilteredProfile reports to slices on tracks (call_lanes.h): which
// coroutine runs, which one waits for which, and the arrows between them.
//
// Invariant: the LaneState of every coroutine that has a track follows from the stream's running
// chain, as of the last reported event.
#pragma once

#include <array>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/collect/call_lanes.h"
#include "analyzer/collect/filtered_profile.h"
#include "analyzer/collect/running_chain.h"

namespace luatrace::analyze {

class CallLog : public CallObserver {
 public:
  // Calls are clipped to the plan's range of ticks. Time of a coroutine outside of its own calls
  // is part of the call that resumed it only if coroutines are linked.
  CallLog(CallWriter& writer, SliceNumbers& used, const TraceFacts& facts, const FilterPlan& plan,
          CallLanes::Namer namer)
      : own_stacks_(plan.options->mode != CoroutineMode::kLinked ||
                    plan.options->group == GroupBy::kCoroutine),
        used_(used),
        lanes_(writer, used, facts, plan.from, plan.to, std::move(namer)) {}

  void opened(const Coroutine& co, StreamId stream, ThreadId tid, FunctionId function,
              uint64_t now) override;
  void closed(const Coroutine& co, StreamId stream, uint64_t now, const CallEnd& end) override;
  void moved(const Coroutine& co, StreamId stream, ThreadId tid, uint64_t now,
             const std::vector<Open>& open) override;
  void add_self_time(FilteredProfile::Machine& machine, StreamId stream, uint64_t from, uint64_t to,
                     Owner owner) override;
  void gone(const Coroutine& co, StreamId stream, uint64_t now) override;
  bool begin_run(const Coroutine& co, StreamId stream, uint64_t now, uint64_t until) override;
  void run_opened(const Coroutine& co, ThreadId tid, uint32_t depth, FunctionId function,
                  uint64_t now) override;
  void run_closed(const Coroutine& co, uint32_t depth, uint64_t now, const CallEnd& end) override;

  // The same for an observer that needs no writer in runs. open_in_run() returns the number of the
  // function. If the call at this depth is shown, close_in_run() calls write(times).
  SliceFunctionId open_in_run(const Coroutine& co, uint32_t depth, FunctionId function,
                              uint64_t now) {
    add_run_time(now);
    return lanes_.begin_in_run(*run_.lane, co.suspended, depth, function, now);
  }
  template <class Write>
  void close_in_run(const Coroutine& co, uint32_t depth, uint64_t now, Write write) {
    add_run_time(now);
    if (run_.lane->open.back().depth != depth) return;
    write(lanes_.end_in_run(*run_.lane, co.suspended, now));
    if (run_.lane->open.empty()) calls_changed(*run_.chain, co.id, now);
  }
  const Track& track_of_run() const { return run_.lane->track; }
  uint64_t ns(uint64_t tick) const { return lanes_.ns(tick); }

  void finish();

 private:
  struct Chain : RunningChain<CallLane> {
    uint64_t links = 0;  // StackMachine::links() when the chain was built.
  };

  // Of the run: the lane of its coroutine, and until when its time was added.
  struct Run {
    CallLane* lane = nullptr;
    Chain* chain = nullptr;
    uint64_t since = 0;
  };

  void add_run_time(uint64_t now) {
    run_.lane->open.back().self += now - std::exchange(run_.since, now);
  }
  Chain& chain(StreamId stream) {
    if (stream != last_stream_ || !last_chain_) {
      last_stream_ = stream;
      last_chain_ = &chains_[stream];
    }
    return *last_chain_;
  }
  CallLane& lane(StreamId stream, CoroutineId coroutine, ThreadId tid);
  void switched(FilteredProfile::Machine& machine, StreamId stream, Chain& chain, uint64_t tick);
  bool follow(FilteredProfile::Machine& machine, Chain& chain, CallLane* to, bool resumes,
              uint64_t tick, uint64_t flow);
  void rebuild(FilteredProfile::Machine& machine, StreamId stream, Chain& chain, uint64_t tick,
               uint64_t flow);
  void arrived(const Coroutine& co, CallLane* lane, uint64_t tick) const;
  void suspend(CallLane& lane, uint64_t tick, uint64_t flow);
  void mark_waiting(Chain& chain, size_t place, uint64_t tick, uint64_t flow = 0);
  void mark_changed(Chain& chain, std::array<size_t, 3> places, uint64_t tick, uint64_t flow);
  void calls_changed(Chain& chain, CoroutineId coroutine, uint64_t tick, uint64_t flow = 0);

  const bool own_stacks_;
  SliceNumbers& used_;
  CallLanes lanes_;
  Run run_;
  std::unordered_map<StreamId, Chain, RandomHash> chains_;
  StreamId last_stream_;
  Chain* last_chain_ = nullptr;  // That of last_stream_.
};

}  // namespace luatrace::analyze
