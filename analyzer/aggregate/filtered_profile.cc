// SPDX-License-Identifier: MIT
#include "analyzer/aggregate/filtered_profile.h"

#include <algorithm>

namespace luatrace {

FilteredProfile::FilteredProfile(const FilterPlan& plan, const TraceFacts& facts,
                                 FunctionTable& functions, const SymbolFinder& symbols)
    : plan_(plan),
      options_(*plan.options),
      facts_(facts),
      placement_(plan, functions, symbols, *this),
      charges_(needs_verdicts(*plan.options) || !placement_.is_plain()),
      met_(plan.options->coroutines.size()) {
  stream(0);
}

void FilteredProfile::finish() {
  HistogramProfile::finish();
  if (coroutines) coroutines->finish();
}

void FilteredProfile::close() {
  Profile::close();
  placement_.close();
  std::vector<Shown>().swap(shown_);
}

void FilteredProfile::add(const FilteredProfile& other) {
  HistogramProfile::add(other);
  traced_ += other.traced_;
  filtered_ += other.filtered_;
  gap_ += other.gap_;
  first_ = std::min(first_, other.first_);
  last_ = std::max(last_, other.last_);
  for (size_t i = 0; i < met_.size(); i++) met_[i] |= other.met_[i];
  if (slow) slow->add(*other.slow);
  if (coroutines) coroutines->add(*other.coroutines);
  if (timeline) timeline->add(*other.timeline);
  if (!threads) return;
  for (const auto& [thread, sums] : *other.threads) (*threads)[thread] += sums;
}

// -- Streams, threads, coroutines: what is looked at, and below what it hangs --

void FilteredProfile::stream(uint32_t number) {
  auto [it, fresh] = views_.try_emplace(number);
  view_ = &it->second;
  if (!fresh) return;
  view_->number = number;
  if (plan_.verdicts) view_->verdicts = plan_.verdicts->find(number);
  const auto& states = options_.states;
  view_->state_wanted =
      states.empty() || std::find(states.begin(), states.end(), number) != states.end();
  auto info = facts_.streams.find(number);
  if (info != facts_.streams.end()) view_->tid = static_cast<uint32_t>(info->second.tid);
  view_->thread_wanted = thread_wanted(view_->tid);
}

bool FilteredProfile::thread_wanted(uint32_t tid) const {
  const auto& list = options_.threads;
  return list.empty() || std::find(list.begin(), list.end(), tid) != list.end();
}

void FilteredProfile::begins(uint64_t tick) {
  first_ = std::min(first_, std::max(tick, plan_.from));
}

void FilteredProfile::on_thread(uint32_t tid) {
  if (threads && tid != view_->tid)
    threads->operator[]({facts_.process_of(view_->number), tid}).switches++;
  view_->tid = tid;
  view_->thread_wanted = thread_wanted(tid);
}

bool FilteredProfile::wanted(const Coroutine& co) const {
  if (!view_->state_wanted || !view_->thread_wanted) return false;
  if (options_.coroutines.empty() || co.id == 0) return true;  // 0: not known which.
  const auto& asked = options_.coroutines;
  bool any = false;
  for (size_t i = 0; i < asked.size(); i++) {
    if (asked[i].id != co.id || (asked[i].state != 0 && asked[i].state != view_->number)) continue;
    met_[i] = true;
    any = true;
  }
  return any;
}

// Of those that resumed this coroutine, directly or through others, the nearest for which `is`. It
// is remembered as long as the coroutine runs and hangs where it does: whoever resumed it begins no
// calls meanwhile. So all questions together take hardly more steps than there are resumes and
// moves, however long the chain is.
template <class Is>
Coroutine* FilteredProfile::outer(Coroutine& co, OuterLink Coroutine::*link, Is is) {
  if (!view_->machine || !co.running) return nullptr;
  const auto next = [&](Coroutine& c) {
    OuterLink& known = c.*link;
    if (known.epoch == c.epoch)
      return known.id == LT_ID_NONE ? nullptr : view_->machine->find(known.id);
    known = {c.epoch, LT_ID_NONE};
    return view_->machine->resumer_of(c);
  };
  const bool is_known = (co.*link).epoch == co.epoch;
  Coroutine* found = next(co);
  if (is_known && (!found || is(*found))) return found;
  std::vector<Coroutine*> passed{&co};  // Of a broken trace it might be a circle.
  for (; found && !is(*found) && passed.size() <= Machine::kMaxChain; found = next(*found))
    passed.push_back(found);
  if (found && !is(*found)) found = nullptr;
  for (Coroutine* c : passed) (c->*link).id = found ? found->id : LT_ID_NONE;
  return found;
}

// Time of a call that is hidden goes to the call that it is part of. If that is one of a coroutine
// further out, which resumed this one and is left out by --coroutine, nobody is left to have it.
bool FilteredProfile::has_owner(Coroutine& co, uint32_t index) {
  if (options_.coroutines.empty() || place(co, index).own) return true;
  const Coroutine* owner = outer(co, &Coroutine::outer_owner,
                                 [this](const Coroutine& c) { return place(c, c.top).own; });
  return !owner || wanted(*owner);
}

std::string FilteredProfile::name_of_stream(uint32_t stream) const {
  auto process = facts_.processes.find(facts_.process_of(stream));
  if (process == facts_.processes.end()) return "";
  return " (pid " + std::to_string(process->second.pid) + ')';
}

uint32_t FilteredProfile::group_root() {
  std::string name;
  if (options_.group == GroupBy::kThread)
    name = "thread " + std::to_string(view_->tid);
  else if (options_.group == GroupBy::kState)
    name = "state " + std::to_string(view_->number) + name_of_stream(view_->number);
  else
    return 0;
  return enter_base(0, placement_.group(name));
}

uint32_t FilteredProfile::base(const Coroutine& co, const Coroutine* by) {
  const bool separate =
      options_.mode == CoroutineMode::kSeparate || options_.group == GroupBy::kCoroutine;
  // After a gap it may not be known which one it is. A group of its own is only needed where there
  // is no other.
  if (separate && (co.id || options_.group == GroupBy::kCoroutine))
    return enter_base(
        group_root(),
        placement_.group("coroutine " + std::to_string(view_->number) + ':' +
                             (co.id ? std::to_string(co.id) : "?") + name_of_stream(view_->number),
                         true));
  if (!by) return group_root();
  if (options_.mode == CoroutineMode::kMerged)
    return enter_base(group_root(), placement_.group("[coroutines]", true));
  return enter_base(by->frames[by->top].node, kCoroutineFunction);
}

void FilteredProfile::created(Coroutine& by, Coroutine& co, uint64_t now) {
  if (!coroutines || !wanted(co) || !in_range(now)) return;
  CoroutineLife& life = coroutines->of(co, view_->number, now);
  life.begin_seen = true;
  if (!by.top) return;
  // Not coroutine.create, but the function that called it.
  const uint32_t function = placement_.function_of(by.frames[by.top].node);
  const bool library = placement_.is_builtin(function) && by.top > 1;
  life.born_in = library ? placement_.function_of(by.frames[by.top - 1].node) : function;
}

void FilteredProfile::gone(Coroutine& co, uint64_t now, Gone how) {
  if (coroutines) coroutines->gone(co, std::min(now, plan_.to), how);
  if (calls) calls->gone(co, view_->number, now);
}

// -- Calls --

void FilteredProfile::opened(Coroutine& co, uint64_t now, bool begins) {
  FrameNotes& f = co.notes[co.top];
  const Place p = place(co, co.top);
  f.node = co.frames[co.top].node;
  f.counted = begins && in_range(now) && wanted(co);
  if (decides_) decide_opened(co, p);
  if (coroutines && co.top == 1 && co.id && wanted(co) && in_range(now)) {
    CoroutineLife& life = coroutines->of(co, view_->number, now);
    if (!life.body) life.body = placement_.function_of(co.frames[1].node);
  }
  if (f.counted) {
    if (p.shown) count(co, p);
    charge(co, co.top);
    charge(co, co.top - 1);
  }
  if (slow && p.shown && co.watched == 0 && f.counted && is_watched(p.function)) watch(co, now);
  if (!calls || !p.shown) return;
  if (!wanted(co)) return static_cast<void>(co.stale = true);
  calls->opened(co, view_->number, view_->tid, p.function, now);
}

// A call's cost of recording is partly in its own time, partly in its caller's.
void FilteredProfile::charge(const Coroutine& co, uint32_t index) {
  if (!charges_) return;
  if (const Place p = place(co, index); p.takes) charged(p.out, 1);
}

void FilteredProfile::count(Coroutine& co, const Place& p) {
  call(p.out);
  if (threads) thread_sums(view_->tid).calls++;
  if (watched_) tell_watches(co, p.out, {0, 0, 1, 0, 0});
}

void FilteredProfile::closed(Coroutine& co, uint64_t now, uint64_t running, bool whole) {
  const FrameNotes& f = co.notes[co.top];
  const Place& p = placement_[f.node];  // A call is counted where it began, so its times are, too.
  const bool seen = p.shown && running != kNotSeen && f.counted;
  if (decides_) decide_closed(f, running);
  if (calls) calls->closed(co, view_->number, now);
  if (seen && whole && now <= plan_.to) ended(0, p.function, running);
  if (co.watched) unwatch(co, now, running, seen && whole);
}

// -- Which calls will be dropped --

void FilteredProfile::decide(CallVerdicts& verdicts) {
  decides_ = &verdicts;
}

// Which calls led to others is not known yet: until then none has.
void FilteredProfile::decide_opened(Coroutine& co, const Place& p) {
  co.notes[co.top].number = view_->calls++;
  if (!placement_.looks_for_callers()) return;
  decided().drop(co.notes[co.top].number, true);
  if (p.target) mark_leading(co, co.top);
}

void FilteredProfile::decide_closed(const FrameNotes& f, uint64_t running) {
  if (running != kNotSeen && facts_.clock.ns(running) < options_.least_ns)
    decided().drop(f.number, true);
}

// Time passes inside a call of -C: calls of coroutines that resumed its own since it was made have
// led to it, too. Calls from it on inwards are `reached`.
void FilteredProfile::decide_time(Coroutine& co) {
  if (!placement_.looks_for_callers() || co.led == co.epoch || !place(co, co.top).reached) return;
  uint32_t links = 0;  // Of a broken trace they might be a circle.
  for (Coroutine* c = &co; c && c->led != c->epoch && links <= Machine::kMaxChain; links++) {
    if (const uint32_t index = target_in(*c)) return mark_leading(*c, index);
    c->led = c->epoch;  // Those further out are told now.
    c = view_->machine->resumer_of(*c);
  }
}

// The index of the call of -C that is open in the coroutine, 0 if there is none.
uint32_t FilteredProfile::target_in(const Coroutine& co) const {
  uint32_t before = 0, reached = co.top;
  while (reached - before > 1) {
    const uint32_t middle = before + (reached - before) / 2;
    (place(co, middle).reached ? reached : before) = middle;
  }
  return reached && place(co, reached).target ? reached : 0;
}

// Every open call of the running stacks has led to the one at `index`.
void FilteredProfile::mark_leading(Coroutine& co, uint32_t index) {
  StreamVerdicts& verdicts = decided();
  auto mark = [&](Coroutine& c, uint32_t from) {
    for (uint32_t i = from; i > 0 && verdicts.drops(c.notes[i].number); i--)
      verdicts.drop(c.notes[i].number, false);
  };
  mark(co, index);
  // `led`: those further out than it were told since it woke; they have no new calls.
  for (Coroutine* c = &co; view_->machine && c->led != c->epoch;) {
    c->led = c->epoch;
    c = view_->machine->resumer_of(*c);
    if (!c) return;
    mark(*c, c->top);
  }
}

// Elsewhere other calls may be shown.
void FilteredProfile::hung(Coroutine& co, bool moved, uint64_t now) {
  co.epoch += moved;
  if (!calls) return;
  co.stale |= moved;
  if (!co.stale || !wanted(co)) return;
  co.stale = false;
  std::vector<CallObserver::Open> open;
  for (uint32_t i = 1; i <= co.top; i++)
    if (const Place p = place(co, i); p.shown) open.push_back({i, p.function});
  calls->moved(co, view_->number, view_->tid, now, open);
}

// -- Time --

void FilteredProfile::spend(Machine& machine, uint64_t from, uint64_t to) {
  view_->machine = &machine;
  Coroutine& co = machine.current();
  if (decides_ && from < to) decide_time(co);
  const Whose whose = whose_time(co);
  if (calls) {
    using Owner = CallObserver::Owner;
    calls->spend(machine, view_->number, from, to,
                 whose == Whose::kUnknown ? Owner::kUnknown
                 : whose == Whose::kCall  ? Owner::kCall
                                          : Owner::kFiltered);
  }
  from = std::max(from, plan_.from);
  to = std::min(to, plan_.to);
  if (from >= to) return;
  last_ = std::max(last_, to);
  traced_ += to - from;
  switch (whose) {
    case Whose::kCall:
      spend_at(co, to - from);
      break;
    case Whose::kIdle:
      Profile::spend(0, to - from);
      break;
    case Whose::kUnknown:
      spend_unknown(co, to - from);
      break;
    case Whose::kFiltered:
      filtered_ += to - from;
      break;
  }
  if (timeline || threads) show(co, whose, from, to);
}

// Filters of calls make no difference to idle and unknown time: what nobody ran is nobody's, what
// nobody knows may have been anything. Those of threads, states and coroutines say where to look.
FilteredProfile::Whose FilteredProfile::whose_time(Coroutine& co) {
  using Outside = Coroutine::Outside;
  if (!wanted(co)) return Whose::kFiltered;
  if (co.top == 0 && co.outside == Outside::kIdle) return Whose::kIdle;
  if (co.top == 0 && co.outside == Outside::kUnknown) return Whose::kUnknown;
  return place(co, co.top).takes && has_owner(co, co.top) ? Whose::kCall : Whose::kFiltered;
}

// In the tree if it has a node there: then it is in the running time of the calls that led to it.
void FilteredProfile::spend_unknown(Coroutine& co, uint64_t ticks) {
  const uint32_t node = place(co, co.top).out;
  if (shown(node).function == kUnknownFunction)
    spend_at(co, ticks);
  else
    gap_ += ticks;
}

void FilteredProfile::spend_at(Coroutine& co, uint64_t ticks) {
  const Place p = place(co, co.top);
  Profile::spend(p.out, ticks);
  if (watched_) tell_watches(co, p.out, {0, 0, 0, ticks, 0});
}

ThreadSums& FilteredProfile::thread_sums(uint32_t tid) {
  ThreadSums& sums = (*threads)[{facts_.process_of(view_->number), tid}];
  sums.states.insert(view_->number);
  return sums;
}

// Each node's is known from its parent's.
FilteredProfile::Shown FilteredProfile::shown(uint32_t node) {
  const bool by_root = options_.group != GroupBy::kNone && options_.group < GroupBy::kFile;
  while (shown_.size() <= node) {
    const CallNode& n = tree()[static_cast<uint32_t>(shown_.size())];
    Shown s{n.function, n.function};
    if (!shown_.empty() && n.function == kCoroutineFunction) s = shown_[n.parent];
    if (by_root && n.parent) s.lane = shown_[n.parent].lane;
    shown_.push_back(s);
  }
  return shown_[node];
}

// For the views of threads and of time.
void FilteredProfile::show(Coroutine& co, Whose whose, uint64_t from, uint64_t to) {
  if (threads) {
    ThreadSums& sums = thread_sums(view_->tid);
    uint64_t& sum = whose == Whose::kFiltered  ? sums.filtered
                    : whose == Whose::kIdle    ? sums.idle
                    : whose == Whose::kUnknown ? sums.gap
                                               : sums.self;
    sum += to - from;
  }
  if (whose != Whose::kCall) return;
  const Shown s = shown(place(co, co.top).out);
  if (!timeline) return;
  timeline->add(Timeline::key(0, view_->tid), from, to);
  timeline->add(Timeline::key(1, s.lane), from, to);
}

// It wakes since another coroutine resumes it right now. Else it was switched to, or what it
// resumed was; a main coroutine is never resumed.
bool FilteredProfile::is_resumed(const Coroutine& co) const {
  if (!co.resumed) return false;
  return !view_->machine || view_->machine->current().id == co.resumer;
}

void FilteredProfile::suspended(Coroutine& co, uint64_t from, uint64_t to, bool resumed) {
  co.epoch++;
  from = std::max(from, plan_.from);
  to = std::min(to, plan_.to);
  if (from > to || !wanted(co)) return;
  if (coroutines && co.id) {
    CoroutineLife& life = coroutines->of(co, view_->number, from);
    life.suspended += to - from;
    life.resumes += resumed && is_resumed(co);
    if (to - from > life.longest) {
      life.longest = to - from;
      life.longest_at = from;
      life.longest_in = co.top ? placement_.function_of(co.frames[co.top].node) : 0;
    }
  }
  if (!co.top || from == to) return;
  const Place p = place(co, co.top);
  if (!p.takes) return;
  Profile::suspended(p.out, to - from);
  if (co.watched)
    slow->add(co.watched, tree(), place(co, slow->depth(co.watched)).out, p.out,
              {0, 0, 0, 0, to - from});
}

// Which coroutine ran then is not known; on which thread it was is taken from before.
void FilteredProfile::gap(uint64_t from, uint64_t to) {
  const bool is_wanted = view_->state_wanted && view_->thread_wanted;
  if (calls && view_->machine)
    calls->spend(*view_->machine, view_->number, from, to,
                 is_wanted ? CallObserver::Owner::kUnknown : CallObserver::Owner::kFiltered);
  from = std::max(from, plan_.from);
  to = std::min(to, plan_.to);
  if (from >= to) return;
  last_ = std::max(last_, to);
  traced_ += to - from;
  (is_wanted ? gap_ : filtered_) += to - from;
  if (!threads) return;
  ThreadSums& sums = thread_sums(view_->tid);
  (is_wanted ? sums.gap : sums.filtered) += to - from;
}

// -- Calls that are watched --

bool FilteredProfile::is_watched(uint32_t function) {
  if (function >= slow_known_.size()) slow_known_.resize(2 * size_t{function} + 64);
  uint8_t& known = slow_known_[function];
  if (known == 0) known = plan_.slow.matches(placement_.described(function)) ? 2 : 1;
  return known == 2;
}

// Tells the calls being watched, in the coroutine and those that resumed it.
void FilteredProfile::tell_watches(Coroutine& co, uint32_t node, SlowNode what) {
  auto tell = [&](Coroutine& c) {
    if (c.watched) slow->add(c.watched, tree(), place(c, slow->depth(c.watched)).out, node, what);
  };
  tell(co);
  each_outer_watched(co, tell);
}

Coroutine* FilteredProfile::outer_watched(Coroutine& co) {
  return outer(co, &Coroutine::outer_watched, [](const Coroutine& c) { return c.watched != 0; });
}

// `f` for those that resumed the coroutine and have a call that is watched, from the nearest on. If
// they are too many (calls that were watched before their coroutines came to be inside each other)
// the outermost are given up.
template <class F>
void FilteredProfile::each_outer_watched(Coroutine& co, F f) {
  Coroutine* last = &co;
  size_t n = 0;
  while (Coroutine* c = outer_watched(*last)) {
    if (n++ == kMostNested) {
      give_up(*c), n--;
      continue;
    }
    f(*c);
    last = c;
  }
}

void FilteredProfile::give_up(Coroutine& co) {
  slow->leave_out();
  slow->drop(co.watched);
  co.watched = 0;
  watched_--;
}

void FilteredProfile::watch(Coroutine& co, uint64_t now) {
  const Place p = place(co, co.top);
  size_t nested = 0;
  each_outer_watched(co, [&](Coroutine&) { nested++; });
  if (nested == kMostNested) return slow->leave_out();
  co.watched = slow->watch(co.top, p.function, now);
  watched_++;
  slow->add(co.watched, tree(), p.out, p.out, {0, 0, 1, 0, 0});
}

// counts: the call was seen from beginning to end, and is shown.
void FilteredProfile::unwatch(Coroutine& co, uint64_t now, uint64_t running, bool counts) {
  if (slow->depth(co.watched) != co.top) return;
  if (counts && now <= plan_.to) {
    SlowCall call;
    call.stream = view_->number;
    call.coroutine = co.id;
    call.thread = view_->tid;
    call.running = running;
    slow->finish(co.watched, std::move(call), now, facts_.clock);
  } else {
    slow->drop(co.watched);
  }
  co.watched = 0;
  watched_--;
}

}  // namespace luatrace
