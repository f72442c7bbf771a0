// SPDX-License-Identifier: MIT
// From what FilteredProfile sees of single calls to slices on tracks (call_writer.h).
//
// Whether a call is shown may be known only later: with --time-filter when it has run long enough,
// with --caller-filter when it has led somewhere, with --time-range when it reaches into the range.
// So each track has a queue: what came after the beginning of an undecided call waits there. It is
// as long as what happens within the least time asked for; with --caller-filter it may grow until
// the first hit.
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
        waits_(plan.options->least_ns || !plan.options->callers.empty() || plan.from),
        own_stacks_(plan.options->mode != CoroutineMode::kLinked ||
                    plan.options->group == GroupBy::kCoroutine),
        namer_(std::move(namer)) {}

  void opened(const Coroutine& co, uint32_t stream, uint32_t tid, uint32_t function,
              uint64_t now) override;
  void closed(const Coroutine& co, uint32_t stream, uint64_t now, bool shown) override;
  void decided(const Coroutine& co, uint32_t stream, uint32_t depth) override;
  void moved(const Coroutine& co, uint32_t stream, uint32_t tid, uint64_t now,
             const std::vector<Open>& open) override;
  bool waits(const Coroutine& co, uint32_t stream) const override;
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
  struct Entry {
    enum What : uint8_t { kBegin, kEnd, kArrive } what;
    bool waiting = false;  // An undecided call begins.
    bool dropped = false;
    Slice slice;
    uint64_t tick = 0;
    uint64_t running = 0, self = 0;
  };
  struct Frame {
    uint64_t running_begin = 0, self = 0;
    uint32_t depth = 0;  // In its coroutine; of a slice that is no call that of the call below.
    uint32_t function = 0;
    uint32_t place = 0;  // Number of its kBegin in the queue, ever; modulo 2^32.
    bool undecided = false;
    bool early = false;   // It began before the range; running_begin is not known yet.
    bool marker = false;  // No call, but a slice that says why the coroutine does nothing itself.
  };
  // First in, first out. Takes no memory while it is empty, as most are at most times.
  class Queue {
   public:
    bool empty() const { return first_ == entries_.size(); }
    size_t size() const { return entries_.size() - first_; }
    Entry& front() { return entries_[first_]; }
    Entry& operator[](size_t i) { return entries_[first_ + i]; }
    void push_back(const Entry& e) { entries_.push_back(e); }
    void pop_front() {
      first_++;
      if (empty() && entries_.capacity() > kKept) return *this = {}, void();
      if (!empty() && first_ < entries_.size() / 2) return;  // Else no more is moved than has gone.
      entries_.erase(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(first_));
      first_ = 0;
    }

   private:
    static constexpr size_t kKept = 16;
    std::vector<Entry> entries_;
    size_t first_ = 0;
  };
  struct Lane {
    Track track;
    uint32_t other = 0;  // kResumed: whom.
    State state = State::kOwn;
    bool has_early = false;  // One of `open` may be `early`.
    uint64_t woke = 0;       // When it last ceased to be suspended.
    // As of the last moment within the range: ticks it had been suspended, and since when it is.
    uint64_t suspended = 0, left = UINT64_MAX;
    GrowArray<Frame> open;  // At most the innermost is a marker.
    Queue queue;
    uint32_t written = 0;  // Entries that have left the queue, ever; modulo 2^32.
    uint32_t undecided = 0;
    uint32_t settled = 0;  // The outermost so many of `open` are decided.
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
  void put(Lane& lane, Entry entry);
  void flush(Lane& lane);
  void write(Lane& lane, const Entry& entry);
  void enter_range(Lane& lane, const Coroutine& co);
  void settle(Lane& lane, Frame& frame, bool shown);
  void begin_call(Lane& lane, const Coroutine& co, Open call, uint64_t now);
  void end_call(Lane& lane, const Coroutine& co, uint64_t now, bool shown);
  void push(Lane& lane, Frame frame, const Slice& slice, uint64_t tick);
  void end_marker(Lane& lane, uint64_t tick);
  void pop(Lane& lane);
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
  const bool waits_;  // There may be calls of which it is not known at once that they are shown.
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
