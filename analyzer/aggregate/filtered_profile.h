// SPDX-License-Identifier: MIT
// The Sink that follows single calls: applies every filter and grouping, and feeds the views that
// need more than sums. Slower than Profile, so only used if one of them was asked for.
//
// Invariant: every tick within the range of time goes to exactly one of: self time of a shown call,
// idle, unknown (gap), filtered. So self + idle + unknown + filtered = traced, whatever is asked.
//
// Which calls are shown by their chain is Placement's business. What depends on the single call,
// its length (-t) and whether it led to a function of -C, is known when it begins: from a reading
// of the trace before this one (verdicts.h).
#pragma once

#include <optional>
#include <unordered_map>

#include "analyzer/aggregate/observers.h"
#include "analyzer/aggregate/placement.h"
#include "analyzer/stacks/streams.h"

namespace luatrace {

class FilteredProfile;

// Is told of single calls in the order of the events; for what shows them one by one. Times are
// ticks, functions those of the file.
class CallObserver {
 public:
  // The innermost call that is shown; something that is not; nobody knows what.
  enum class Owner : uint8_t { kCall, kFiltered, kUnknown };
  virtual ~CallObserver() = default;
  // A call that is shown begins, or was reported open: the one on top of the coroutine.
  virtual void opened(const Coroutine& co, uint32_t stream, uint32_t tid, uint32_t function,
                      uint64_t now) = 0;
  // The call on top ends, shown or not.
  virtual void closed(const Coroutine& co, uint32_t stream, uint64_t now) = 0;
  // The open calls may be shown otherwise from now on: as `open`, the outermost first.
  struct Open {
    uint32_t depth, function;
  };
  virtual void moved(const Coroutine& co, uint32_t stream, uint32_t tid, uint64_t now,
                     const std::vector<Open>& open) = 0;
  // Time of the machine's current coroutine, and whose it is.
  virtual void spend(StackMachine<FilteredProfile>& machine, uint32_t stream, uint64_t from,
                     uint64_t to, Owner owner) = 0;
  virtual void gone(const Coroutine& co, uint32_t stream, uint64_t now) = 0;
};

class FilteredProfile : public HistogramProfile {
 public:
  static constexpr bool kNotes = false;
  static constexpr bool kFrames = true;
  using Machine = StackMachine<FilteredProfile>;

  // All references must live as long as this is told of calls. Observers may be null.
  FilteredProfile(const FilterPlan& plan, TraceFacts& facts, const SymbolFinder& symbols)
      : FilteredProfile(plan, facts, facts.functions, symbols) {}
  // With functions that others add to, too.
  FilteredProfile(const FilterPlan& plan, const TraceFacts& facts, FunctionTable& functions,
                  const SymbolFinder& symbols);
  SlowCalls* slow = nullptr;
  CoroutineLog* coroutines = nullptr;
  Timeline* timeline = nullptr;
  ThreadLog* threads = nullptr;
  CallObserver* calls = nullptr;

  // Nodes of the call tree come from there; null: there may be any number.
  void limit(NodeBudget* budget) { placement_.limit(budget); }
  // Notes in `verdicts` which calls are to be dropped, instead of asking the plan's.
  void decide(CallVerdicts& verdicts);
  // All streams have been read.
  void finish();
  // See Profile::close().
  void close();

  // Adds what another one found out about other streams of the file, and its observers to these.
  void add(const FilteredProfile& other);

  uint64_t traced() const { return traced_; }
  uint64_t filtered() const { return filtered_; }
  uint64_t gap() const { return gap_; }
  uint64_t first_tick() const { return first_; }
  uint64_t last_tick() const { return last_; }
  // Whether anything ran in the coroutine of the options' n-th filter of coroutines.
  bool has_met(size_t n) const { return met_[n]; }

  // What the machines call; see stacks/machine.h.
  uint32_t enter(uint32_t raw, uint32_t function) {
    return placement_.enter(raw, function,
                            view_->verdicts && view_->verdicts->drops(view_->calls++));
  }
  uint32_t enter_base(uint32_t raw, uint32_t function) { return placement_.enter(raw, function); }
  uint32_t enter_again(uint32_t raw, uint32_t old, uint32_t function) {
    return placement_.enter(raw, function, placement_.is_dropped(old));
  }
  void stream(uint32_t number);
  void begins(uint64_t tick);
  void on_thread(uint32_t tid);
  uint32_t base(const Coroutine& co, const Coroutine* by);
  void created(Coroutine& by, Coroutine& co, uint64_t now);
  void opened(Coroutine& co, uint64_t now, bool begins);
  void closed(Coroutine& co, uint64_t now, uint64_t running, bool whole);
  void spend(Machine& machine, uint64_t from, uint64_t to);
  void suspended(Coroutine& co, uint64_t from, uint64_t to, bool resumed);
  void hung(Coroutine& co, bool moved, uint64_t now);
  void gap(uint64_t from, uint64_t to);
  void gone(Coroutine& co, uint64_t now, Gone how);

 private:
  struct StreamView {
    uint32_t number = 0;
    uint32_t tid = 0;
    bool state_wanted = true, thread_wanted = true;
    Machine* machine = nullptr;  // Known once it has spent time.
    const StreamVerdicts* verdicts = nullptr;
    uint64_t calls = 0;  // That have begun or were reported.
  };
  bool in_range(uint64_t tick) const { return tick >= plan_.from && tick <= plan_.to; }
  bool wanted(const Coroutine& co) const;
  bool thread_wanted(uint32_t tid) const;
  bool has_owner(Coroutine& co, uint32_t index);
  Place place(const Coroutine& co, uint32_t index) const {
    return placement_[co.frames[index].node];
  }
  bool is_resumed(const Coroutine& co) const;
  template <class Is>
  Coroutine* outer(Coroutine& co, OuterLink Coroutine::*link, Is is);
  Coroutine* outer_watched(Coroutine& co);
  template <class F>
  void each_outer_watched(Coroutine& co, F f);
  void spend_at(Coroutine& co, uint64_t ticks);
  StreamVerdicts& decided() { return (*decides_)[view_->number]; }
  void decide_opened(Coroutine& co, const Place& p);
  void decide_closed(const FrameNotes& f, uint64_t running);
  void decide_time(Coroutine& co);
  uint32_t target_in(const Coroutine& co) const;
  void mark_leading(Coroutine& co, uint32_t index);
  void count(Coroutine& co, const Place& p);
  void charge(const Coroutine& co, uint32_t index);
  void watch(Coroutine& co, uint64_t now);
  void give_up(Coroutine& co);
  void unwatch(Coroutine& co, uint64_t now, uint64_t running, bool counts);
  void tell_watches(Coroutine& co, uint32_t node, SlowNode what);
  bool is_watched(uint32_t function);
  uint32_t group_root();
  std::string name_of_stream(uint32_t stream) const;
  enum class Whose : uint8_t { kCall, kIdle, kUnknown, kFiltered };
  Whose whose_time(Coroutine& co);
  void spend_unknown(Coroutine& co, uint64_t ticks);
  void show(Coroutine& co, Whose whose, uint64_t from, uint64_t to);
  // Of a node of the shown tree: the function whose time its own is, and whose lane of the timeline
  // that goes to.
  struct Shown {
    uint32_t function, lane;
  };
  Shown shown(uint32_t node);
  ThreadSums& thread_sums(uint32_t tid);

  // Calls that are watched while one in the innermost of their coroutines runs: each is told of all
  // that happens there.
  static constexpr size_t kMostNested = 64;

  const FilterPlan& plan_;
  const FilterOptions& options_;
  const TraceFacts& facts_;
  Placement placement_;
  const bool charges_;               // Charges are not just what a tree of all calls has.
  CallVerdicts* decides_ = nullptr;  // See decide().
  std::unordered_map<uint32_t, StreamView, RandomHash> views_;
  StreamView* view_ = nullptr;
  std::vector<Shown> shown_;         // By node, as far as asked for.
  std::vector<uint8_t> slow_known_;  // By function: 1 not watched, 2 watched.
  size_t watched_ = 0;               // Calls that are being watched.
  mutable std::vector<char> met_;    // By filter of coroutines.
  uint64_t traced_ = 0, filtered_ = 0, gap_ = 0, first_ = UINT64_MAX, last_ = 0;
};

}  // namespace luatrace
