// SPDX-License-Identifier: MIT
// The Sink that applies all filters and groupings, and feeds the views that need more than sums.
// Without such views it sums up in runs (machine/machine.h), as fast as Profile does.
//
// Invariant: every tick within the time range is added to exactly one of: self time of a shown
// call, idle, unknown (gap), filtered. So self + idle + unknown + filtered = traced, always.
//
// Placement decides by call path which calls are shown; Scope applies the filters of Lua VM,
// thread, coroutine and time. What depends on the single call (-t, and whether it led to a function
// of -C) is known when it begins, from an earlier pass over the trace (verdicts.h).
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>

#include "analyzer/collect/observers.h"
#include "analyzer/collect/placement.h"
#include "analyzer/collect/request_groups.h"
#include "analyzer/collect/request_log.h"
#include "analyzer/collect/running_groups.h"
#include "analyzer/collect/scope.h"
#include "analyzer/collect/slow_watch.h"
#include "analyzer/collect/waits.h"
#include "analyzer/machine/streams.h"

namespace luatrace::analyze {

class FilteredProfile;

// What is known of a call when it ends.
struct CallEnd {
  CallEnding ending = CallEnding::kUnseen;
  bool begun = false;    // Its beginning was seen.
  uint32_t request = 0;  // The number of its request in its Lua VM; 0: none, or not followed.
  bool inside = false;   // Of a segment: its times are apportioned (docs/semantics.md).
};

// Receives single calls in the order of events, for outputs that show them one by one. Times are
// ticks, functions are indices of the file.
class CallObserver {
 public:
  // The owner of time: the innermost shown call, something hidden, or unknown.
  enum class Owner : uint8_t { kCall, kFiltered, kUnknown };
  virtual ~CallObserver() = default;
  // A shown call, on top of the coroutine, begins or was reported as open.
  virtual void opened(const Coroutine& co, StreamId stream, ThreadId tid, FunctionId function,
                      uint64_t now) = 0;
  // The call on top ends, shown or not.
  virtual void closed(const Coroutine& co, StreamId stream, uint64_t now, const CallEnd& end) = 0;
  // From now on the coroutine's open calls are shown as `open`, the outermost first.
  struct Open {
    uint32_t depth;
    FunctionId function;
  };
  virtual void moved(const Coroutine& co, StreamId stream, ThreadId tid, uint64_t now,
                     const std::vector<Open>& open) = 0;
  // Time of the machine's current coroutine, and its owner.
  virtual void add_self_time(StackMachine<FilteredProfile>& machine, StreamId stream, uint64_t from,
                             uint64_t to, Owner owner) = 0;
  virtual void gone(const Coroutine& co, StreamId stream, uint64_t now) = 0;

  // An observer may accept runs (machine/machine.h) of a coroutine whose calls are all shown: then
  // calls begin and end by these, the time between is that of the innermost call, and `top` is not
  // up to date. An accepted run may be empty.
  virtual bool begin_run(const Coroutine&, StreamId, uint64_t /*now*/, uint64_t /*until*/) {
    return false;
  }
  virtual void run_opened(const Coroutine&, ThreadId, uint32_t /*depth*/, FunctionId,
                          uint64_t /*now*/) {}
  virtual void run_closed(const Coroutine&, uint32_t /*depth*/, uint64_t /*now*/, const CallEnd&) {}
};

class FilteredProfile {
 public:
  static constexpr bool kNotes = false;
  static constexpr bool kFrames = true;
  using Machine = StackMachine<FilteredProfile>;

  // The references must stay valid as long as this receives calls. Observers may be missing.
  FilteredProfile(const FilterPlan& plan, TraceFacts& facts, const SymbolFinder& symbols)
      : FilteredProfile(plan, facts, facts.functions, symbols) {}
  // The same with a table of functions to which other threads may add meanwhile.
  FilteredProfile(const FilterPlan& plan, const TraceFacts& facts, FunctionTable& functions,
                  const SymbolFinder& symbols);
  FilteredProfile(const FilteredProfile&) = delete;
  FilteredProfile& operator=(const FilteredProfile&) = delete;
  SlowCalls* slow = nullptr;
  CoroutineLog* coroutines = nullptr;
  WaitLog* waits = nullptr;
  RequestLog* requests = nullptr;
  const RequestGroups* request_groups = nullptr;  // --group-by request; needs `requests`.
  // --group-by label:KEY: the values that have groups of their own; null: all.
  const std::unordered_set<std::string>* label_groups = nullptr;
  Timeline* timeline = nullptr;
  ThreadLog* threads = nullptr;
  std::vector<CallObserver*> calls;

  // See Profile::limit().
  void limit(NodeBudget* budget) { placement_.limit(budget); }
  // All streams have been read.
  void finish();
  // See Profile::close().
  void close();

  // Adds the results of other streams of the file, and those of their observers to the observers.
  void add(const FilteredProfile& other);

  // Results, valid after finish(). Times are ticks.
  const HistogramProfile& sums() const { return sums_; }
  uint64_t traced() const { return traced_; }
  uint64_t filtered() const { return filtered_; }
  uint64_t gap() const { return gap_; }
  uint64_t first_tick() const { return first_; }
  uint64_t last_tick() const { return last_; }
  // See Scope::matched().
  bool matched(size_t n) const { return scope_.matched(n); }

  // What the machines call; see machine/machine.h.
  void set_clock(const Clock& clock) { sums_.set_clock(clock); }
  [[gnu::always_inline]] uint32_t enter(uint32_t raw, FunctionId function) {
    return placement_.enter(raw, function,
                            stream_->verdicts && stream_->verdicts->drops(stream_->next++));
  }
  uint32_t enter(uint32_t raw, FunctionId function, uint64_t hash) {
    return placement_.enter(raw, function, hash);
  }
  uint32_t enter_base(uint32_t raw, FunctionId function) { return placement_.enter(raw, function); }
  uint32_t enter_again(uint32_t raw, uint32_t old, FunctionId function) {
    return placement_.enter(has_running_groups() ? running_groups_.next(raw) : raw, function,
                            placement_.is_dropped(old));
  }
  bool prefetches() { return !stream_->verdicts && machine_tree().is_large(); }
  CallTree& machine_tree() { return placement_.raw(); }
  void stream(StreamId number);
  void begins(uint64_t tick);
  void on_thread(ThreadId tid);
  uint32_t base(Coroutine& co, const Coroutine* by) {
    if (requests) request_stream_->attached(co, by);
    const uint32_t raw = scope_.base(placement_, co, by);
    return has_running_groups() ? running_groups_.base(co, raw, running_group(co)) : raw;
  }
  void request(const Coroutine& current, Coroutine& co, uint64_t request) {
    if (requests) request_stream_->request(current, co, request);
  }
  void labeled(const Coroutine& current, Coroutine& co) {
    if (requests) request_stream_->labeled(current, co);
    if (by_label_) co.label_group = group_of(co.labels.get());
  }
  void yielded(Coroutine& co, const Coroutine* resumer) {
    if (requests) request_stream_->yielded(co, resumer);
  }
  void off_cpu(Machine& machine, uint64_t ticks);
  void switched(const Coroutine& from, const Coroutine& to) {
    if (requests && request_stream_->turns) request_stream_->turns->switched(from, to);
  }
  void cuts(bool gap) {
    if (requests) request_stream_->cuts(gap);
  }
  void created(Coroutine& by, Coroutine& co, uint64_t now);
  void opened(Coroutine& co, uint64_t now, bool begins);
  void closed(Coroutine& co, uint64_t now, uint64_t running, bool whole);
  void add_self_time(Machine& machine, uint64_t from, uint64_t to);
  void suspended(Coroutine& co, uint64_t from, uint64_t to, bool resumed);
  void attached(Coroutine& co, bool moved, uint64_t now);
  void gap(uint64_t from, uint64_t to);
  void gone(Coroutine& co, uint64_t now, Gone how);

  // False if a view needs more than sums.
  bool takes_runs() const {
    return !slow && !timeline && !threads && !(requests && requests->follows_calls());
  }
  bool begin_run(Machine& machine, uint64_t until);
  void add_self_time(uint32_t raw, uint64_t ticks) {
    machine_tree()[NodeId(raw)].self += ticks & run_.time_mask;
  }
  void apportioned(uint32_t raw, uint64_t ticks) { add_apportioned(raw, ticks & run_.time_mask); }
  void run_opened(Coroutine& co, uint32_t index, uint64_t now) {
    const uint32_t raw = co.frames[index].node;
    machine_tree()[NodeId(raw)].calls += run_.counts;
    run_.calls++;
    co.notes[index] = {raw, {}, run_.counts};
    if (!calls.empty()) report_run_opened(co, index, now);
  }
  void run_closed(Coroutine& co, uint32_t index, uint64_t now, uint64_t running) {
    if (!calls.empty()) report_run_closed(co, index, now, running);
    if (running == kNotSeen) return;
    const FrameNotes& f = co.notes[index];
    if (requests) run_.add(request_stream_->vm_work(placement_.function_of(f.node)), running);
    if (!f.counted || !run_.in_range) return;
    if (const FunctionId function = placement_.shown_as(f.node)) end_call(co, function, running);
  }
  // Of a run. Single calls are needed for the verdicts on them, and by observers.
  bool takes_repeats() const { return !stream_->verdicts && calls.empty(); }
  void repeated(uint32_t raw, FunctionId, uint64_t calls, uint64_t running) {
    run_.calls += calls;
    if (requests) run_.add(request_stream_->vm_work(placement_.function_of(raw)), running);
    if (!run_.counts) return;
    machine_tree()[NodeId(raw)].calls += calls;
    if (const FunctionId function = placement_.shown_as(raw))
      sums_.ended_inside(0, function, calls, running);
  }
  void end_run(uint64_t from, uint64_t to);

 private:
  struct Stream {
    Machine* machine = nullptr;  // Known once time has passed.
    const StreamVerdicts* verdicts = nullptr;
    const std::vector<uint32_t>* groups = nullptr;  // RequestGroups::of().
    CallNumber next;  // Of the calls begun or reported; counted only if there are verdicts.
  };
  // What holds for all of a run.
  struct Run {
    bool in_range = false;
    bool counts = false;                   // Whether calls are counted.
    uint64_t time_mask = 0;                // Mask of the ticks that are counted: all bits or none.
    uint64_t calls = 0;                    // That began.
    uint64_t collector = 0, compiler = 0;  // Ticks of their calls that ended.
    uint32_t request = 0;                  // That the calls work for; only if there are observers.

    void add(VmWork work, uint64_t ticks) {
      if (work == VmWork::kCollector) collector += ticks;
      if (work == VmWork::kCompiler) compiler += ticks;
    }
  };
  void end_call(const Coroutine& co, FunctionId function, uint64_t running) {
    co.inside ? sums_.ended_inside(0, function, 1, running) : sums_.ended(0, function, running);
  }
  // Clips from..to to the time range, and adds it to the traced time. False if nothing is left.
  bool take_time(uint64_t& from, uint64_t& to);
  bool has_running_groups() const { return request_groups || by_label_; }
  FunctionId group_of(const Labels* labels);
  RunningGroup running_group(const Coroutine& co);
  void follow_group(Coroutine& co) {
    if (has_running_groups()) running_groups_.follow(stream_->machine, co, running_group(co));
  }
  void leave_call(Coroutine& co, uint64_t now, uint64_t running);
  void report_end(const Coroutine& co, uint64_t now, bool begun);
  bool report_run(Coroutine& co, uint64_t now, uint64_t until);
  // In a run that is reported: report_run().
  void report_run_opened(const Coroutine& co, uint32_t index, uint64_t now) {
    const Place p = place(co, index);
    if (!p.shown) return;
    for (auto* o : calls) o->run_opened(co, scope_.tid(), index, p.function, now);
  }
  void report_run_closed(const Coroutine& co, uint32_t index, uint64_t now, uint64_t running) {
    const CallEnd end{CallEnding::kReturn, running != kNotSeen, run_.request, co.inside};
    for (auto* o : calls) o->run_closed(co, index, now, end);
  }
  bool has_owner(Coroutine& co, uint32_t index);
  Place place(const Coroutine& co, uint32_t index) const {
    return placement_[co.frames[index].node];
  }
  bool is_resumed(const Coroutine& co) const;
  void report_time(Machine& machine, uint64_t from, uint64_t to, CallObserver::Owner owner) {
    for (auto* o : calls) o->add_self_time(machine, scope_.number(), from, to, owner);
  }
  FunctionId function_of_user(const Coroutine& co) const;
  CoroutineLife& life_of(Coroutine& co, uint64_t now);
  void add_to_life(Coroutine& co, uint64_t calls, uint64_t self);
  void log_running(Machine& machine, uint64_t now);
  void add_idle_time(Machine& machine, uint64_t ticks);
  void add_to_request(const Coroutine& co, RequestId request, SlowNode what);
  void add_run_to_request(Coroutine& co, uint64_t from, uint64_t to);
  void add_apportioned(uint32_t raw, uint64_t ticks) {
    if (raw >= apportioned_.size()) apportioned_.resize(2 * size_t{raw} + 1);
    apportioned_[raw] += ticks;
  }
  void settle_apportioned();
  void add_self_time_at(Coroutine& co, uint64_t ticks);
  void end_wait(const Coroutine& co, uint64_t to, bool resumed);
  void count(Coroutine& co, const Place& p);
  enum class TimeKind : uint8_t { kCall, kIdle, kUnknown, kFiltered };
  TimeKind time_kind(Coroutine& co);
  void add_unknown_time(Coroutine& co, uint64_t ticks);
  void add_to_views(Coroutine& co, TimeKind kind, uint64_t from, uint64_t to);
  // For a node of the shown tree: the function that owns its self time, and the function whose lane
  // of the timeline gets it.
  struct Shown {
    FunctionId function, lane;
    NodeId call;  // The innermost that is no coroutine's, 0: none.
  };
  Shown shown(NodeId node);
  ThreadSums& thread_sums(ThreadId tid);

  const FilterPlan& plan_;
  const FilterOptions& options_;
  const bool by_label_;
  const TraceFacts& facts_;
  HistogramProfile sums_;  // Its tree is the shown one.
  Placement placement_;
  Scope scope_;
  RunningGroups running_groups_;
  std::vector<FunctionId> group_ids_;  // By place in RequestGroups::names().
  SlowWatch watch_;
  std::unordered_map<StreamId, Stream, RandomHash> streams_;
  Stream* stream_ = nullptr;
  RequestStream* request_stream_ = nullptr;  // Of the current stream; null without --requests.
  Run run_;
  std::vector<Shown> shown_;           // By node; extended by shown().
  std::vector<uint64_t> apportioned_;  // By node of the raw tree, until finish().
  uint64_t traced_ = 0, filtered_ = 0, gap_ = 0, first_ = UINT64_MAX, last_ = 0;
};

}  // namespace luatrace::analyze
