// SPDX-License-Identifier: MIT
#include "analyzer/collect/filtered_profile.h"

#include <algorithm>
#include <utility>

#include "analyzer/collect/request_trail.h"

namespace luatrace::analyze {

// Whether groups are at the roots of the call tree.
static bool groups_roots(const FilterOptions& o) {
  return o.group != GroupBy::kNone && !o.groups_files();
}

FilteredProfile::FilteredProfile(const FilterPlan& plan, const TraceFacts& facts,
                                 FunctionTable& functions, const SymbolFinder& symbols)
    : plan_(plan),
      options_(*plan.options),
      by_label_(options_.group == GroupBy::kLabel),
      facts_(facts),
      placement_(plan, functions, symbols, sums_.tree()),
      scope_(plan, facts),
      running_groups_(placement_),
      watch_(slow, plan, placement_, sums_.tree()) {
  stream(kNoStream);
}

// To the shown tree, as Placement::settle() does with self time.
void FilteredProfile::settle_apportioned() {
  for (uint32_t raw = 0; raw < apportioned_.size() && raw < machine_tree().size(); raw++) {
    if (!apportioned_[raw]) continue;
    if (placement_.is_plain())
      sums_.apportioned(raw, apportioned_[raw]);
    else if (const Place p = placement_[raw]; p.takes)
      sums_.apportioned(p.out, apportioned_[raw]);
  }
  std::vector<uint64_t>().swap(apportioned_);
}

void FilteredProfile::finish() {
  settle_apportioned();
  filtered_ += placement_.settle(sums_);
  sums_.finish();
  if (coroutines) coroutines->finish();
  if (requests) requests->finish(facts_.clock);
}

void FilteredProfile::close() {
  sums_.close();
  placement_.close();
  std::vector<Shown>().swap(shown_);
}

void FilteredProfile::add(const FilteredProfile& other) {
  sums_.add(other.sums_);
  scope_.add(other.scope_);
  traced_ += other.traced_;
  filtered_ += other.filtered_;
  gap_ += other.gap_;
  first_ = std::min(first_, other.first_);
  last_ = std::max(last_, other.last_);
  if (slow) slow->add(*other.slow);
  if (coroutines) coroutines->add(*other.coroutines);
  if (waits)
    for (const auto& [key, sums] : *other.waits) (*waits)[key] += sums;
  if (requests) requests->add(*other.requests);
  if (timeline) timeline->add(*other.timeline);
  if (!threads) return;
  for (const auto& [thread, sums] : *other.threads) (*threads)[thread] += sums;
}

// -- Streams, threads, coroutines --

void FilteredProfile::stream(StreamId number) {
  scope_.stream(number);
  if (requests) request_stream_ = &requests->stream(number, placement_);
  auto [it, fresh] = streams_.try_emplace(number);
  stream_ = &it->second;
  if (fresh && plan_.verdicts) stream_->verdicts = plan_.verdicts->find(number);
  if (fresh && request_groups) stream_->groups = &request_groups->of(number);
}

void FilteredProfile::begins(uint64_t tick) {
  first_ = std::min(first_, std::max(tick, plan_.from));
  if (requests) request_stream_->ledger().lost(tick, tick, facts_.clock);
}

void FilteredProfile::on_thread(ThreadId tid) {
  if (threads && tid != scope_.tid())
    (*threads)[{facts_.process_of(scope_.number()), tid}].switches++;
  scope_.on_thread(tid);
}

// That of the value that these labels have for the key of --group-by.
FunctionId FilteredProfile::group_of(const Labels* labels) {
  if (!labels) return kNoFunction;
  for (const Label& l : *labels)
    if (l.key == options_.label)
      return placement_.group(label_groups && !label_groups->contains(l.value) ? kOtherValues
                                                                               : l.value);
  return kNoFunction;
}

// That of its label, or of the request for which the coroutine works.
RunningGroup FilteredProfile::running_group(const Coroutine& co) {
  if (by_label_) return {co.label_group};
  const RequestStream::Work work = request_stream_->work_of(co);
  if (!work.request || work.request >= stream_->groups->size()) return {};
  const uint32_t group = (*stream_->groups)[work.request];
  FunctionId& id = grown(group_ids_, group);
  if (!id) id = placement_.group(request_groups->names()[group]);
  return {id, work.from};
}

// The call on top ends; it may be a request.
void FilteredProfile::leave_call(Coroutine& co, uint64_t now, uint64_t running) {
  const VmWork work = request_stream_->vm_work(placement_.function_of(co.notes[co.top].node));
  if (work != VmWork::kNone && running != kNotSeen) {
    const TickRange& range = requests->range();
    const uint64_t ticks = range.clamp(now) - range.clamp(now - std::min(now, running));
    request_stream_->worked(co, work, facts_.clock.ns(ticks));
  }
  const uint32_t from = request_groups ? running_group(co).from : 0;
  request_stream_->closed(co, co.top);
  if (from > 1 && from == co.top) running_groups_.leave(co, running_group(co));
}

// Time of a hidden call goes to the shown call around it. If that call belongs to a resumer that
// --coroutine leaves out, the time has no owner.
bool FilteredProfile::has_owner(Coroutine& co, uint32_t index) {
  if (options_.coroutines.empty() || place(co, index).own) return true;
  const Coroutine* owner = find_outer(stream_->machine, co, &Coroutine::outer_owner,
                                      [this](const Coroutine& c) { return place(c, c.top).own; });
  return !owner || scope_.wanted(*owner);
}

void FilteredProfile::created(Coroutine& by, Coroutine& co, uint64_t now) {
  if (requests) request_stream_->created(by, co);
  co.label_group = by.label_group;
  const bool by_host = by.top == 0 && by.outside == Coroutine::Outside::kIdle;
  co.origin = placement_.inherited_from(by.frames[by.top].node, by_host);
  if (!coroutines || !scope_.wanted(co) || !scope_.has(now)) return;
  CoroutineLife& life = life_of(co, now);
  life.begin_seen = true;
  life.created_in = function_of_user(by);
}

// The function of the innermost call, kNoFunction if there is none. If it is a builtin
// (coroutine.create, coroutine.yield): the function that called it.
FunctionId FilteredProfile::function_of_user(const Coroutine& co) const {
  if (!co.top) return kNoFunction;
  const FunctionId function = placement_.function_of(co.frames[co.top].node);
  const bool library = placement_.is_builtin(function) && co.top > 1;
  return library ? placement_.function_of(co.frames[co.top - 1].node) : function;
}

CoroutineLife& FilteredProfile::life_of(Coroutine& co, uint64_t now) {
  CoroutineLife& life = coroutines->of(co, scope_.number(), now);
  if (!life.body && co.top) life.body = placement_.function_of(co.frames[1].node);
  return life;
}

void FilteredProfile::add_to_life(Coroutine& co, uint64_t calls, uint64_t self) {
  if (!co.log_entry) return;  // there is no log, or it does not have the coroutine
  CoroutineLife& life = coroutines->of(co, scope_.number(), 0);
  life.calls += calls;
  life.self += self;
}

// Time passes that counts: the running coroutines are in the log, also those that did nothing else
// since the time range began. Once for each time that one of them is resumed.
void FilteredProfile::log_running(Machine& machine, uint64_t now) {
  for (Coroutine* c = &machine.current(); c && c->logged_epoch != c->epoch;
       c = machine.resumer_of(*c)) {
    c->logged_epoch = c->epoch;
    if (c->id && scope_.wanted(*c)) life_of(*c, now);
  }
}

// No running coroutine has an open call. Normally these are the main coroutine alone, or that and
// one that has not begun; in a chain of more than kMaxIdle without any call the outer ones keep it
// as running time, so that a long chain does not cost time at each event.
void FilteredProfile::add_idle_time(Machine& machine, uint64_t ticks) {
  constexpr int kMaxIdle = 16;
  Coroutine* c = &machine.current();
  for (int i = 0; c && i < kMaxIdle; i++, c = machine.resumer_of(*c))
    if (c->log_entry) coroutines->of(*c, scope_.number(), 0).idle += ticks;
}

void FilteredProfile::gone(Coroutine& co, uint64_t now, Gone how) {
  if (coroutines) coroutines->gone(co, std::min(now, plan_.to), how);
  if (requests) request_stream_->gone(co, how);
  for (auto* o : calls) o->gone(co, scope_.number(), now);
}

// -- Calls --

void FilteredProfile::opened(Coroutine& co, uint64_t now, bool begins) {
  FrameNotes& f = co.notes[co.top];
  const RequestId request = requests ? request_stream_->opened(co, begins) : kNoRequest;
  follow_group(co);
  const Place p = place(co, co.top);
  if (requests) add_to_request(co, request, {0, 0, begins && scope_.has(now), 0, 0});
  f.node = co.frames[co.top].node;
  f.counted = begins && scope_.has(now) && scope_.wanted(co);
  if (coroutines && co.top == 1 && co.id && scope_.wanted(co) && scope_.has(now)) life_of(co, now);
  if (f.counted) count(co, p);
  if (f.counted && p.shown) watch_.begin(stream_->machine, co, now);
  if (calls.empty() || !p.shown) return;
  if (!scope_.wanted(co)) return static_cast<void>(co.stale = true);
  for (auto* o : calls) o->opened(co, scope_.number(), scope_.tid(), p.function, now);
}

void FilteredProfile::count(Coroutine& co, const Place& p) {
  machine_tree()[NodeId(co.frames[co.top].node)].calls++;
  if (!p.shown) return;
  if (threads) thread_sums(scope_.tid()).calls++;
  add_to_life(co, 1, 0);
  if (watch_.is_watching()) watch_.add(stream_->machine, co, p.out, {0, 0, 1, 0, 0});
}

// The call on top ends.
void FilteredProfile::report_end(const Coroutine& co, uint64_t now, bool begun) {
  CallEnd end{co.ending, begun, 0, co.inside};
  if (requests) {
    const RequestStream::Work work = request_stream_->work_of(co);
    if (co.ending == CallEnding::kOpen)
      end.request = request_stream_->request_at_end(co);
    else if (co.top >= work.from)
      end.request = work.request;
  }
  for (auto* o : calls) o->closed(co, scope_.number(), now, end);
}

void FilteredProfile::closed(Coroutine& co, uint64_t now, uint64_t running, bool whole) {
  const FrameNotes& f = co.notes[co.top];
  const Place& p = placement_[f.node];  // Times are counted where the call was: where it began.
  const bool seen = p.shown && running != kNotSeen && f.counted;
  if (!calls.empty()) report_end(co, now, running != kNotSeen);
  if (requests) leave_call(co, now, running);
  if (seen && whole && now <= plan_.to) end_call(co, p.function, running);
  if (!co.watched_call) return;
  SlowCall call;
  call.stream = scope_.number();
  call.coroutine = co.id;
  call.thread = scope_.tid();
  call.running = running;
  watch_.end(co, std::move(call), now, facts_.clock, seen && whole);
}

// After a move in the call tree, other calls may be shown.
void FilteredProfile::attached(Coroutine& co, bool moved, uint64_t now) {
  co.epoch += moved;
  if (calls.empty()) return;
  co.stale |= moved;
  if (!co.stale || !scope_.wanted(co)) return;
  co.stale = false;
  std::vector<CallObserver::Open> open;
  for (uint32_t i = 1; i <= co.top; i++)
    if (const Place p = place(co, i); p.shown) open.push_back({i, p.function});
  for (auto* o : calls) o->moved(co, scope_.number(), scope_.tid(), now, open);
}

// -- Runs --

// The filters must accept or reject a run as a whole. So there is no run if the time range begins
// or ends in it, or if some of its calls have owners in other coroutines.
bool FilteredProfile::begin_run(Machine& machine, uint64_t until) {
  stream_->machine = &machine;
  const uint64_t now = machine.now();
  run_.in_range = now >= plan_.from && until <= plan_.to;
  if (!run_.in_range && until >= plan_.from && now <= plan_.to) return false;
  const bool wanted = scope_.wanted(machine.current());
  if (wanted && scope_.is_of_coroutines() && !placement_.is_plain()) return false;
  if (coroutines && !placement_.is_plain()) return false;
  run_.counts = wanted && run_.in_range;
  run_.time_mask = run_.counts ? UINT64_MAX : 0;
  run_.calls = run_.collector = run_.compiler = 0;
  if (coroutines && run_.in_range) log_running(machine, now);
  if (!calls.empty() && !report_run(machine.current(), now, until)) return false;
  if (requests) request_stream_->begin_turn(machine.current(), false);
  if (request_groups) request_stream_->ran_calls(machine.current(), now, now, facts_.clock);
  follow_group(machine.current());
  return true;
}

// Whether all observers accept the run. Which request it works for does not change in it, and is
// settled before, as it is when time passes in single calls.
bool FilteredProfile::report_run(Coroutine& co, uint64_t now, uint64_t until) {
  if (!run_.counts || !placement_.is_plain() || scope_.is_of_coroutines()) return false;
  for (auto* o : calls)
    if (!o->begin_run(co, scope_.number(), now, until)) return false;
  if (!requests) return true;
  request_stream_->ran_calls(co, now, now, facts_.clock);
  run_.request = request_stream_->work_of(co).request;
  return true;
}

void FilteredProfile::end_run(uint64_t from, uint64_t to) {
  if (requests) add_run_to_request(stream_->machine->current(), from, to);
  if (!run_.in_range) return;
  const uint64_t ticks = take_time(from, to) ? to - from : 0;
  if (!run_.counts) filtered_ += ticks;
  if (run_.counts) add_to_life(stream_->machine->current(), run_.calls, ticks);
}

// --request: this happened in the innermost call of the coroutine.
void FilteredProfile::add_to_request(const Coroutine& co, RequestId request, SlowNode what) {
  if (!request_stream_->ledger().watches(request) || (!what.self && !what.calls)) return;
  RequestTrail& trail = *requests->trail();
  if (!trail.watch) trail.watch = trail.calls.watch(0, kNoFunction, 0);
  trail.calls.add(trail.watch, sums_.tree(), kRootNode, place(co, co.top).out, what);
}

void FilteredProfile::add_run_to_request(Coroutine& co, uint64_t from, uint64_t to) {
  request_stream_->ran_calls(co, from, to, facts_.clock);
  for (const auto& [work, ticks] :
       {std::pair(VmWork::kCollector, run_.collector), std::pair(VmWork::kCompiler, run_.compiler)})
    if (ticks && run_.in_range) request_stream_->worked(co, work, facts_.clock.ns(ticks));
  if (co.top == 0) request_stream_->closed(co, 1);  // The outermost call has ended, too.
}

// -- Time --

bool FilteredProfile::take_time(uint64_t& from, uint64_t& to) {
  from = std::max(from, plan_.from);
  to = std::min(to, plan_.to);
  if (from >= to) return false;
  last_ = std::max(last_, to);
  traced_ += to - from;
  return true;
}

void FilteredProfile::add_self_time(Machine& machine, uint64_t from, uint64_t to) {
  stream_->machine = &machine;
  Coroutine& co = machine.current();
  if (requests) {
    const uint64_t ticks = requests->range().clamp(to) - requests->range().clamp(from);
    add_to_request(co, request_stream_->ran(co, from, to, facts_.clock),
                   {0, 0, 0, ticks, 0, machine.is_apportioned() ? ticks : 0});
  }
  follow_group(co);
  const TimeKind kind = time_kind(co);
  report_time(machine, from, to,
              kind == TimeKind::kUnknown ? CallObserver::Owner::kUnknown
              : kind == TimeKind::kCall  ? CallObserver::Owner::kCall
                                         : CallObserver::Owner::kFiltered);
  if (!take_time(from, to)) return;
  if (coroutines) log_running(machine, from);
  if (coroutines && kind == TimeKind::kIdle) add_idle_time(machine, to - from);
  switch (kind) {
    case TimeKind::kCall:
      add_self_time_at(co, to - from);
      add_to_life(co, 0, to - from);
      break;
    case TimeKind::kIdle:
      machine_tree()[kRootNode].self += to - from;
      break;
    case TimeKind::kUnknown:
      add_unknown_time(co, to - from);
      break;
    case TimeKind::kFiltered:
      filtered_ += to - from;
      break;
  }
  if (timeline || threads) add_to_views(co, kind, from, to);
}

void FilteredProfile::off_cpu(Machine& machine, uint64_t ticks) {
  Coroutine& co = machine.current();
  const uint64_t to = std::min(machine.now(), plan_.to);
  const uint64_t from = std::max(machine.now() - ticks, plan_.from);
  if (requests && from < to) request_stream_->ledger().off_cpu(facts_.clock.ns(to - from));
  if (from < to && time_kind(co) == TimeKind::kCall)
    sums_.off_cpu(place(co, co.top).out, to - from);
}

// Call filters do not affect idle and unknown time: idle time belongs to no call, unknown time may
// belong to any. Filters of threads, Lua VMs and coroutines apply to both.
FilteredProfile::TimeKind FilteredProfile::time_kind(Coroutine& co) {
  using Outside = Coroutine::Outside;
  if (!scope_.wanted(co)) return TimeKind::kFiltered;
  if (co.top == 0 && co.outside == Outside::kIdle) return TimeKind::kIdle;
  if (co.top == 0 && co.outside == Outside::kUnknown) return TimeKind::kUnknown;
  return place(co, co.top).takes && has_owner(co, co.top) ? TimeKind::kCall : TimeKind::kFiltered;
}

// Adds to the node of unknown time if there is one: then callers include it in inclusive time.
void FilteredProfile::add_unknown_time(Coroutine& co, uint64_t ticks) {
  const NodeId node = place(co, co.top).out;
  if (shown(node).function == kUnknownFunction)
    add_self_time_at(co, ticks);
  else
    gap_ += ticks;
}

void FilteredProfile::add_self_time_at(Coroutine& co, uint64_t ticks) {
  const uint32_t raw = co.frames[co.top].node;
  machine_tree()[NodeId(raw)].self += ticks;
  const bool apportioned = stream_->machine->is_apportioned();
  if (apportioned) add_apportioned(raw, ticks);
  if (watch_.is_watching())
    watch_.add(stream_->machine, co, placement_[raw].out,
               {0, 0, 0, ticks, 0, apportioned ? ticks : 0});
}

ThreadSums& FilteredProfile::thread_sums(ThreadId tid) {
  ThreadSums& sums = (*threads)[{facts_.process_of(scope_.number()), tid}];
  sums.vms.insert(scope_.number());
  return sums;
}

// Computed for all nodes up to `node`, each from its parent's.
FilteredProfile::Shown FilteredProfile::shown(NodeId node) {
  const bool by_root = groups_roots(options_);
  while (shown_.size() <= node) {
    const CallNode& n = sums_.tree()[NodeId(static_cast<uint32_t>(shown_.size()))];
    const FunctionId function(n.function);
    Shown s{function, function, NodeId(static_cast<uint32_t>(shown_.size()))};
    if (!shown_.empty() && n.function == kCoroutineFunction) s = shown_[n.parent];
    if (by_root && n.parent) s.lane = shown_[n.parent].lane;
    shown_.push_back(s);
  }
  return shown_[node];
}

void FilteredProfile::add_to_views(Coroutine& co, TimeKind kind, uint64_t from, uint64_t to) {
  if (threads) {
    ThreadSums& sums = thread_sums(scope_.tid());
    uint64_t& sum = kind == TimeKind::kFiltered  ? sums.filtered
                    : kind == TimeKind::kIdle    ? sums.idle
                    : kind == TimeKind::kUnknown ? sums.gap
                                                 : sums.self;
    sum += to - from;
  }
  if (kind != TimeKind::kCall) return;
  const Shown s = shown(place(co, co.top).out);
  if (!timeline) return;
  timeline->add(LaneId(scope_.tid()), from, to);
  timeline->add(LaneId(s.lane), from, to);
}

// Whether the coroutine wakes because another one resumes it now, and not because control switched
// to it or to a coroutine that it resumed. A main coroutine is never resumed.
bool FilteredProfile::is_resumed(const Coroutine& co) const {
  if (!co.resumed) return false;
  return !stream_->machine || stream_->machine->current().id == co.resumer;
}

// The coroutine waited since it yielded, with its call on top innermost; resumed: until now, when
// it is resumed. Code that ran on its stack meanwhile does not end the wait. It counts in a range
// with any of its time, but has a length there only if all of it is in the range.
void FilteredProfile::end_wait(const Coroutine& co, uint64_t to, bool resumed) {
  if (co.yielded > plan_.to || to < plan_.from || !co.top || !scope_.wanted(co)) return;
  const Place p = place(co, co.top);
  const NodeId node = p.takes ? shown(p.out).call : kRootNode;
  if (!node) return;
  const CallTree& tree = sums_.tree();
  const FunctionId function(tree[node].function);
  // By function and caller; with groups at the roots of the tree, by group and function.
  const auto key = groups_roots(options_)
                       ? std::pair(shown(node).lane, function)
                       : std::pair(function, FunctionId(shown(tree[node].parent).function));
  WaitSums& sums = (*waits)[key];
  if (resumed && scope_.has(co.yielded) && to <= plan_.to)
    sums.add(to - std::min(to, co.yielded), facts_.clock);
  else
    sums.unfinished++;
}

void FilteredProfile::suspended(Coroutine& co, uint64_t from, uint64_t to, bool resumed) {
  co.epoch++;
  if (requests && resumed && is_resumed(co)) request_stream_->resumed(co);
  if (waits && co.yielded != kNotSeen && (!resumed || is_resumed(co))) end_wait(co, to, resumed);
  const bool in_range = scope_.has(to);
  from = std::max(from, plan_.from);
  to = std::min(to, plan_.to);
  if (from > to || !scope_.wanted(co)) return;
  if (coroutines && co.id) {
    CoroutineLife& life = life_of(co, from);
    life.suspended += to - from;
    life.resumes += in_range && resumed && is_resumed(co);
    if (to - from > life.longest) {
      life.longest = to - from;
      life.longest_at = from;
      life.longest_in = function_of_user(co);
    }
  }
  if (!co.top) return;
  const Place p = place(co, co.top);
  if (!p.takes) return;
  if (from == to) return;
  sums_.suspended(p.out, to - from);
  watch_.suspended(co, p.out, to - from);
}

// The coroutine that ran during the gap is unknown; the thread is assumed to be the one before it.
void FilteredProfile::gap(uint64_t from, uint64_t to) {
  if (requests) request_stream_->ledger().lost(from, to, facts_.clock);
  const bool is_wanted = scope_.wanted();
  if (stream_->machine)
    report_time(*stream_->machine, from, to,
                is_wanted ? CallObserver::Owner::kUnknown : CallObserver::Owner::kFiltered);
  if (!take_time(from, to)) return;
  (is_wanted ? gap_ : filtered_) += to - from;
  if (!threads) return;
  ThreadSums& sums = thread_sums(scope_.tid());
  (is_wanted ? sums.gap : sums.filtered) += to - from;
}

}  // namespace luatrace::analyze
