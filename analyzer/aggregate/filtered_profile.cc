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
      defers_(plan.options->least_ns || !plan.options->callers.empty()),
      charges_(defers_ || !placement_.is_plain()),
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
  return enter(0, placement_.group(name));
}

uint32_t FilteredProfile::base(const Coroutine& co, const Coroutine* by) {
  const bool separate =
      options_.mode == CoroutineMode::kSeparate || options_.group == GroupBy::kCoroutine;
  // After a gap it may not be known which one it is. A group of its own is only needed where there
  // is no other.
  if (separate && (co.id || options_.group == GroupBy::kCoroutine))
    return enter(group_root(), placement_.group("coroutine " + std::to_string(view_->number) + ':' +
                                                    (co.id ? std::to_string(co.id) : "?") +
                                                    name_of_stream(view_->number),
                                                true));
  if (!by) return group_root();
  if (options_.mode == CoroutineMode::kMerged)
    return enter(group_root(), placement_.group("[coroutines]", true));
  return enter(by->frames[by->top].node, kCoroutineFunction);
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
  FrameNotes& f = co.notes[co.top] = {0, view_->tid, false, false};
  if (options_.least_ns) {
    co.pending.resize(co.frames.size());
    PendingTime& pending = co.pending[co.top];
    pending.when.clear();
    pending = {0, 0, 0, 0, std::move(pending.when), 0, 0};
  }
  const Place p = place(co, co.top);
  f.node = co.frames[co.top].node;
  f.counted = begins && in_range(now) && wanted(co);
  if (p.target) mark_leading(co);
  if (coroutines && co.top == 1 && co.id && wanted(co) && in_range(now)) {
    CoroutineLife& life = coroutines->of(co, view_->number, now);
    if (!life.body) life.body = placement_.function_of(co.frames[1].node);
  }
  if (f.counted) {
    if (p.shown && !defers_) count(co, p);
    charge(co, co.top);
    charge(co, co.top - 1);
  }
  if (slow && p.shown && co.watched == 0 && f.counted && is_watched(p.function)) watch(co, now);
  if (!calls || !p.shown) return;
  if (!wanted(co)) return static_cast<void>(co.stale = true);
  calls->opened(co, view_->number, view_->tid, p.function, now);
  tell_decided(co, now);
}

// The cost of recording a call lies in this one's time.
void FilteredProfile::charge(Coroutine& co, uint32_t index) {
  if (!charges_) return;
  if (index && options_.least_ns) return static_cast<void>(co.pending[index].charges++);
  if (const Place p = place(co, index); p.takes) charged(p.out, 1);
}

// Tells how many of the open calls, from the outermost on, are sure to be shown. Those further out
// are older and have led to whatever these have led to: so the innermost such call can be found by
// halves.
void FilteredProfile::tell_decided(const Coroutine& co, uint64_t now) {
  if (!calls->waits(co, view_->number)) return;
  const uint64_t clock = now - co.suspended;
  auto decided = [&](uint32_t i) {
    const uint64_t start = co.frames[i].start;
    const bool old = start == kNotSeen || !options_.least_ns ||
                     facts_.clock.ns(clock - start) >= options_.least_ns;
    const bool within = co.notes[i].counted || now > plan_.from;
    const bool leads = !placement_.looks_for_callers() || co.notes[i].leads;
    return old && within && leads;
  };
  uint32_t first = 0, behind = co.top + 1;  // `first` is decided (0: none), `behind` is not.
  while (behind - first > 1) {
    const uint32_t middle = first + (behind - first) / 2;
    (decided(middle) ? first : behind) = middle;
  }
  if (first) calls->decided(co, view_->number, first);
}

void FilteredProfile::count(Coroutine& co, const Place& p) {
  call(p.out);
  if (threads) thread_sums(co.notes[co.top].thread).calls++;
  if (watched_) tell_watches(co, p.out, {0, 0, 1, 0, 0});
}

// Every open call of the running stacks has led to this one.
void FilteredProfile::mark_leading(Coroutine& co) {
  auto mark = [](Coroutine& c) {
    for (uint32_t i = c.top; i > 0 && !c.notes[i].leads; i--) c.notes[i].leads = true;
  };
  mark(co);
  if (!view_->machine || &view_->machine->current() != &co) return;
  // `led`: those further out than it were told since it woke; they have no new calls.
  for (Coroutine* c = &co; c->led != c->epoch;) {
    c->led = c->epoch;
    c = view_->machine->resumer_of(*c);
    if (!c) return;
    mark(*c);
  }
}

void FilteredProfile::closed(Coroutine& co, uint64_t now, uint64_t running, bool whole) {
  const FrameNotes& f = co.notes[co.top];
  const Place p = placement_[f.node];  // A call is counted where it began, so its times are, too.
  const bool seen = running != kNotSeen && f.counted;
  const bool brief =
      options_.least_ns && running != kNotSeen && facts_.clock.ns(running) < options_.least_ns;
  if (brief) hand_down(co);
  const bool leads = !placement_.looks_for_callers() || f.leads;
  const bool shown = p.shown && !brief && leads;
  if (shown && seen && defers_) count(co, p);
  commit(co, co.top);
  if (calls) {  // Of which it is the part where the coroutine hangs now.
    calls->closed(co, view_->number, now, place(co, co.top).shown && !brief && leads);
  }
  if (shown && seen && whole && now <= plan_.to) ended(p.function, running);
  if (co.watched) unwatch(co, now, running, shown && seen && whole);
}

// The call below the one on top, or if there is none the one that resumed this coroutine, as far as
// the coroutine hangs there.
FilteredProfile::OpenCall FilteredProfile::caller(Coroutine& co) {
  if (co.top > 1 && !place(co, co.top - 1).takes) return {};
  if (!has_owner(co, co.top - 1)) return {};
  if (co.top > 1) return {&co, co.top - 1};
  const uint32_t base = co.frames[0].node;
  if (placement_.function_of(base) != kCoroutineFunction) return {};
  Coroutine* taker = outer(co, &Coroutine::outer_taker,
                           [this](const Coroutine& c) { return c.top && place(c, c.top).takes; });
  return taker ? OpenCall{taker, taker->top} : OpenCall{};
}

// What the call on top has pending becomes its caller's.
void FilteredProfile::hand_down(Coroutine& co) {
  PendingTime& f = co.pending[co.top];
  const OpenCall call = caller(co);
  if (watched_) hand_watches(co, call);
  if (call.co) {
    PendingTime* to = &call.co->pending[call.index];
    to->ticks += f.ticks;
    to->charges += f.charges;
    if (co.top > 1) to->waited += f.waited;  // Wall time is of one coroutine.
    slicer().keep_all(to->when, f.when);
  } else {
    filter_pending(f);
  }
  f.ticks = f.waited = f.charges = 0;
  Timeline::forget(f.when);
}

uint64_t& FilteredProfile::told_outside(Coroutine& co, uint32_t index) {
  PendingTime& f = co.pending[index];
  if (f.wakes != co.wakes) f.told_outside = 0;
  f.wakes = co.wakes;
  return f.told_outside;
}

// What watched calls know of the time of the call on top becomes its caller's there, too. Those
// that another coroutine was in when it ran before keep what they know.
void FilteredProfile::hand_watches(Coroutine& co, OpenCall to) {
  PendingTime& f = co.pending[co.top];
  const uint64_t outside = told_outside(co, co.top), inside = f.told_inside;
  const uint32_t node = place(co, co.top).out;
  auto hand = [&](Coroutine& c, uint64_t ticks) {
    if (!c.watched || !ticks) return;
    const uint32_t root = place(c, slow->depth(c.watched)).out;
    slow->take(c.watched, tree(), root, node, ticks);
    if (to.co) slow->add(c.watched, tree(), root, place(*to.co, to.index).out, {0, 0, 0, ticks, 0});
  };
  hand(co, inside);
  each_outer_watched(co, [&](Coroutine& c) { hand(c, outside); });
  f.told_inside = f.told_outside = 0;
  if (!to.co) return;
  to.co->pending[to.index].told_inside += to.co == &co ? inside : outside;
  told_outside(*to.co, to.index) += outside;
}

// Nobody has the frame's time.
void FilteredProfile::filter_pending(PendingTime& f) {
  filtered_ += f.ticks;
  if (!threads) return;
  for (const TimePiece& piece : f.when) {
    ThreadSums& sums = thread_sums(piece.thread);
    sums.self -= piece.ticks;
    sums.filtered += piece.ticks;
  }
}

// The frame's time goes where the call is shown.
void FilteredProfile::commit(Coroutine& co, uint32_t index) {
  if (!options_.least_ns) return;
  PendingTime& f = co.pending[index];
  if (!f.ticks && !f.charges && !f.waited) return;
  const Place p = place(co, index);
  if (f.ticks) Profile::spend(p.out, f.ticks);
  f.told_inside = f.told_outside = 0;
  if (f.charges && p.takes) charged(p.out, f.charges);
  if (f.waited) {
    Profile::suspended(p.out, f.waited);
    if (co.watched && index >= slow->depth(co.watched))
      slow->add(co.watched, tree(), place(co, slow->depth(co.watched)).out, p.out,
                {0, 0, 0, 0, f.waited});
  }
  f.ticks = f.waited = f.charges = 0;
  if (f.when.empty()) return;
  const Shown to = shown(p.out);
  if (timeline && to.function >= kFirstFunction)
    for (const TimePiece& piece : f.when) {
      timeline->add(Timeline::key(0, piece.thread), piece);
      timeline->add(Timeline::key(1, to.lane), piece);
    }
  Timeline::forget(f.when);
}

void FilteredProfile::moves(Coroutine& co) {
  if (!options_.least_ns) return;
  for (uint32_t i = 1; i <= co.top; i++) commit(co, i);
}

// Elsewhere other calls may be shown. Time so far was given to those that were (moves()), so these
// are decided now, for what they have been.
void FilteredProfile::hung(Coroutine& co, bool moved, uint64_t now) {
  co.epoch += moved;
  if (!calls) return;
  co.stale |= moved;
  if (!co.stale || !wanted(co)) return;
  co.stale = false;
  uint32_t leading = co.top;
  if (placement_.looks_for_callers())
    while (leading && !co.notes[leading].leads) leading--;
  if (leading && now > plan_.from) calls->decided(co, view_->number, leading);
  std::vector<CallObserver::Open> open;
  for (uint32_t i = 1; i <= co.top; i++)
    if (const Place p = place(co, i); p.shown) open.push_back({i, p.function});
  calls->moved(co, view_->number, view_->tid, now, open);
  tell_decided(co, now);
}

// -- Time --

void FilteredProfile::spend(Machine& machine, uint64_t from, uint64_t to) {
  view_->machine = &machine;
  Coroutine& co = machine.current();
  const Whose whose = whose_time(co);
  if (calls) {
    using Owner = CallObserver::Owner;
    calls->spend(machine, view_->number, from, to,
                 whose == Whose::kUnknown ? Owner::kUnknown
                 : whose == Whose::kCall  ? Owner::kCall
                                          : Owner::kFiltered);
    tell_decided(co, to);
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
  if (co.top && options_.least_ns) {
    co.pending[co.top].ticks += ticks;
    if (!watched_) return;
    co.pending[co.top].told_inside += ticks;
    told_outside(co, co.top) += ticks;
    return tell_watches(co, place(co, co.top).out, {0, 0, 0, ticks, 0});
  }
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
  if (co.top && options_.least_ns)  // Pending, as spend_at() has it.
    return slicer().keep(co.pending[co.top].when, view_->tid, from, to);
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
  co.wakes++;
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
  if (options_.least_ns) {
    co.pending[co.top].waited += to - from;
    return;
  }
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
  // Its own call, unless it is counted at its end.
  if (!defers_) slow->add(co.watched, tree(), p.out, p.out, {0, 0, 1, 0, 0});
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
