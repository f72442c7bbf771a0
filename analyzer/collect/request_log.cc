// SPDX-License-Identifier: MIT
#include "analyzer/collect/request_log.h"

#include <algorithm>
#include <tuple>

#include "analyzer/collect/profile.h"
#include "analyzer/collect/request_trail.h"
#include "analyzer/filter/phase.h"

namespace luatrace::analyze {

// -- Coroutines --

// What the collector and the compiler do while no code runs is no request's.
RequestStream::Owner RequestStream::owner(const Entry& e) const {
  if (ledger_.lives(e.outer)) return {e.outer, e.outer_phase};
  if (e.of_vm) return {};
  if (ledger_.lives(e.life)) return {e.life, e.phase};
  return {};
}

// Which labels the coroutines of a request have had, each with its last value.
static void add_labels(const Labels* from, decltype(RequestSums::labels)& labels) {
  if (!from) return;
  for (const Label& l : *from) {
    const auto at = std::find_if(labels.begin(), labels.end(),
                                 [&](const auto& known) { return known.first == l.key; });
    if (at != labels.end())
      at->second = l.value;
    else if (labels.size() < kMaxLabels)
      labels.emplace_back(l.key, l.value);
  }
}

// The coroutine's labels are its request's. Not before it is certain which one that is: the
// address may have begun anew.
static void take_labels(RequestLedger& ledger, const RequestCoroutine& e) {
  if (ledger.lives(e.life)) add_labels(e.labels.get(), ledger[e.life].sums.labels);
}

static void set_open(RequestLedger& ledger, RequestCoroutine& e, bool open) {
  if (e.open == open) return;
  e.open = open;
  if (!ledger.lives(e.life) || ledger[e.life].doubtful) return;
  RequestLife& life = ledger[e.life];
  open ? life.open++ : life.open--;
}

void RequestStream::work_for(Entry& e, RequestId life) {
  const bool open = e.open;
  set_open(ledger_, e, false);
  if (e.waiting) entries_.wake(e, ledger_[e.life]);
  if (e.life != life) {
    if (RequestLife& before = ledger_[e.life]; before.main == e.self) before.main = {};
    e.counted = false;
  }
  e.life = life;
  set_open(ledger_, e, open);
}

// A value of the label stands for the host's address.
void RequestStream::labeled(const Coroutine& current, Coroutine& co) {
  uint64_t address = 0;
  if (co.labels)
    for (const Label& l : *co.labels)
      if (l.key == rules_.label()) address = std::hash<std::string>()(l.value) | 1;
  Entry& e = entries_.of(co);
  const bool was_same = e.address == address;
  e.labels = co.labels;
  if (rules_.by_label() && !was_same) return request(current, co, address, true);
  if (const RequestId life = owner(e).life; ledger_.lives(life))
    add_labels(e.labels.get(), ledger_[life].sums.labels);
}

void RequestStream::request(const Coroutine& current, Coroutine& co, uint64_t address,
                            bool is_label) {
  if (!rules_.by_host() || rules_.by_label() != is_label) return;
  Entry& e = entries_.of(co);
  const bool is_new = address != e.address || !ledger_.lives(e.life);
  e.address = address;
  e.since = ledger_.now();
  e.asked = address != 0;
  e.fresh = current.top == 0 && current.outside != Coroutine::Outside::kCall;
  if (!is_new) return;
  e.phase = kNoFunction;
  work_for(e, kNoRequest);
}

void RequestStream::created(const Coroutine& by, Coroutine& co) {
  if (co.labels) entries_.of(co).labels = co.labels;
  const bool by_host = by.top == 0 && by.outside == Coroutine::Outside::kIdle;
  const Entry* creator = entries_.find(by);
  if (creator == nullptr && !(by_host && rules_.by_host())) return;
  const Entry from = creator ? *creator : Entry{};  // The new entry may move the creator's.
  const Owner running = owner(from);
  const Owner of = rules_.by_host() ? Owner{from.life, from.phase} : running;
  const FunctionId call = by.top ? called_.function_of(by.frames[by.top].node) : kNoFunction;
  const bool timer = call >= kFirstFunction && rules_.of(call, called_).creates_timers;
  if (timer) bounds_.in_nginx();
  Entry& e = entries_.of(co);
  e.created = true;
  e.inherited = inherited_phase(running.phase, timer, by_host, kTimerFunction);
  if (!ledger_.lives(of.life)) return;
  e.address = from.address;
  e.phase = of.phase;
  work_for(e, of.life);
  take_labels(ledger_, e);
}

void RequestStream::attached(Coroutine& co, const Coroutine* by) {
  if (turns) turns->gone(co.id);  // It runs: no C function of it is interrupted.
  if (co.top) begin_turn(co, false);
  const Entry* resumer = by && by->top ? entries_.find(*by) : nullptr;
  const Owner of = resumer ? owner(*resumer) : Owner{};
  if (rules_.by_coroutine() && by && co.resumed && co.outside == Coroutine::Outside::kIdle)
    resumed_by_host(co);
  if (!of.life && !co.request_entry) return;
  Entry& e = entries_.of(co);
  e.resumed = co.resumed;
  e.outer = of.life;
  e.outer_phase = of.phase;
}

// A coroutine that belongs to no request begins one (--request-by @coroutines).
void RequestStream::resumed_by_host(Coroutine& co) {
  Entry& e = entries_.of(co);
  if (ledger_.lives(e.life)) return;
  work_for(e, ledger_.begin(0, ledger_.now()));
  take_labels(ledger_, e);
  RequestLife& life = ledger_[e.life];
  life.main = co.request_entry;
  life.sums.coroutines = 1;
  life.sums.begun_before = co.top > 0;
  e.counted = true;
  e.phase = e.bottom;
}

void RequestStream::gone(Coroutine& co, Gone how) {
  Entry* e = entries_.find(co);
  if (turns) turns->gone(co.id);
  hosts_.erase(co.id);
  if (e == nullptr) return;
  const bool lives = ledger_.lives(e->life);
  if (lives && how == Gone::kCollected)
    ledger_[e->life].sums.unsure |= bounds_.is_abandoned(*e, ledger_[e->life]);
  if (lives && e->waiting && rules_.of(e->wait, called_).restarts) ledger_[e->life].restarts = true;
  if ((how == Gone::kLost || how == Gone::kPaused) && lives) before_gap_[co.id] = e->life;
  if (rules_.by_coroutine() && lives && ledger_[e->life].main == co.request_entry)
    ledger_.end(e->life, how == Gone::kCollected ? ledger_[e->life].last : ledger_.now(), false);
  // What the request waits in does not change now: what is collected was dropped long ago.
  work_for(*e, kNoRequest);
  entries_.remove(co);
}

// -- Lives --

// Finds the life at the address of a coroutine that has a call now.
void RequestStream::resolve(Entry& e) {
  if (!e.asked) return;
  e.asked = false;
  RequestId life = ledger_.find(e.address);
  if (life && ledger_[life].doubtful) {
    const auto before = before_gap_.find(e.id);
    if (before != before_gap_.end() && before->second == life) {
      ledger_.confirm(life);
    } else {
      ledger_.end(life, ledger_[life].last, true);
      life = kNoRequest;
    }
  }
  work_for(e, life ? life : ledger_.begin(e.address, e.since));
}

// An outermost call begins: of the request with the coroutine's address, or of another one there.
void RequestStream::find_bounds(Entry& e, FunctionId bottom) {
  using Verdict = RequestBounds::Verdict;
  RequestLife& life = ledger_[e.life];
  const Entry& waiting = entries_[life.waiting];
  const FunctionId waits_in = waiting.waiting ? waiting.wait : kNoFunction;
  const Verdict verdict = bounds_.of(e, life, bottom, waits_in);
  const bool unsure = verdict == Verdict::kUnsureSame || verdict == Verdict::kUnsureOther;
  life.sums.unsure |= unsure;
  if (verdict == Verdict::kOther || verdict == Verdict::kUnsureOther) {
    if (life.main) life.sums.unsure |= bounds_.is_abandoned(entries_[life.main], life);
    if (!unsure && life.reached != Phase::kLog) bounds_.ended_without_log(life);
    ledger_.end(e.life, life.last, false);
    work_for(e, ledger_.begin(e.address, e.since));
    ledger_[e.life].sums.unsure = unsure;
  }
  if (ledger_[e.life].sums.phases.empty() && !unsure) bounds_.begins(bottom);
}

// The coroutine, which works for its own request, has an outermost call.
void RequestStream::outermost(Entry& e, FunctionId bottom, Seen seen) {
  resolve(e);
  if (!ledger_.lives(e.life)) return;
  const RequestRule r = rules_.of(bottom, called_);
  if (r.in_nginx) bounds_.in_nginx();
  if (seen == Seen::kBegins) find_bounds(e, bottom);
  take_labels(ledger_, e);
  const bool own = e.created || e.resumed;  // It is not the main coroutine.
  RequestLife& life = ledger_[e.life];
  const bool first = life.sums.phases.empty();
  const bool timer = first && bounds_.is_timer(e, life, bottom);
  if (timer && bounds_.is_nginx()) e.inherited = kTimerFunction;
  e.phase = outermost_phase(r.main_chunk ? bottom : kNoFunction, e.inherited, r.main_chunk,
                            kTimerFunction);
  if (first) life.sums.begun_before = seen == Seen::kReported || (seen == Seen::kOpen && e.older);
  if (first) life.sums.timer = timer || e.phase == kTimerFunction;
  life.sums.timer &= !r.main_chunk;  // It was a light thread that was seen first.
  if (!e.phase) e.phase = bottom;
  // A main chunk on the main coroutine that follows one in a coroutine of its own is a
  // header_filter, body_filter or log block (or balancer), even if it has only the name of a file.
  life.answered |= r.main_chunk && !own && life.entered && r.phase != Phase::kSet;
  life.entered |= r.main_chunk && own;
  if (r.main_chunk && own) life.block = bottom;
  if (r.phase != Phase::kNone) life.reached = std::max(life.reached, r.phase);
  if (r.phase == Phase::kLog) bounds_.logged(life);
  phase_of(life.sums, e.phase);
  if ((r.main_chunk && own) || !life.main) life.main = e.self;
  if (!std::exchange(e.counted, true)) life.sums.coroutines += e.resumed || rules_.by_label();
  e.fresh = false;
}

RequestId RequestStream::opened(Coroutine& co, bool begins) {
  begin_turn(co, !begins);
  if (rules_.by_call()) call_opened(co, begins);
  Entry* e = entries_.find(co);
  if (e == nullptr) return kNoRequest;
  if (co.top == 1) outermost_opened(*e, called_.function_of(co.frames[1].node), begins);
  return owner(*e).life;
}

void RequestStream::outermost_opened(Entry& e, FunctionId bottom, bool begins) {
  e.of_vm = vm_work(bottom) != VmWork::kNone;
  if (e.of_vm) return;
  e.bottom = bottom;
  e.older = !begins;
  if (!ledger_.lives(e.outer)) set_open(ledger_, e, true);  // A generator may be dropped any time.
  if (rules_.by_host()) {
    if (!ledger_.lives(e.outer)) outermost(e, bottom, begins ? Seen::kBegins : Seen::kReported);
  } else if (ledger_.lives(e.life)) {
    RequestLife& life = ledger_[e.life];
    if (!e.phase) e.phase = bottom;
    if (life.main == e.self && !begins) life.sums.begun_before = true;
    life.sums.coroutines += !std::exchange(e.counted, true);
  }
}

void RequestStream::call_opened(Coroutine& co, bool begins) {
  const FunctionId function = called_.function_of(co.frames[co.top].node);
  if (!rules_.of(function, called_).begins) return;
  const Entry* known = entries_.find(co);
  if (known && owner(*known).life) return;  // Inside another one.
  const RequestId id = ledger_.begin(0, ledger_.now());
  Entry& e = entries_.of(co);
  e.depth = co.top;
  e.phase = function;
  e.open = true;
  work_for(e, id);
  take_labels(ledger_, e);
  RequestLife& life = ledger_[id];
  life.main = co.request_entry;
  life.sums.coroutines = 1;
  life.sums.begun_before = !begins;
  e.counted = true;
}

// A call ends at this depth.
void RequestStream::closed(Coroutine& co, uint32_t depth) {
  if (turns && depth == 1) turns->returns(ledger_.now(), co);
  Entry* e = entries_.find(co);
  if (e == nullptr || (depth == 1 && std::exchange(e->of_vm, false))) return;
  const bool lives = ledger_.lives(e->life) && !ledger_[e->life].doubtful;
  const bool ends = rules_.by_host()
                        ? depth == 1 && rules_.of(e->bottom, called_).phase == Phase::kLog
                        : depth == e->depth;
  if (lives && ends && !ledger_.lives(e->outer)) {
    if (rules_.by_call()) ledger_[e->life].sums.tail_call = co.ending == CallEnding::kTail;
    ledger_.end(e->life, ledger_.now(), false);
    work_for(*e, kNoRequest);
  }
  if (depth != 1) return;
  set_open(ledger_, *e, false);
  e->phase = kNoFunction;
}

void RequestStream::cuts(bool gap) {
  if (turns) turns->cut(ledger_.now());
  if (gap && rules_.by_host())
    ledger_.doubt_all();
  else
    ledger_.end_all();
}

// -- Time --

RequestId RequestStream::ran(Coroutine& co, uint64_t from, uint64_t to, const Clock& clock) {
  using Outside = Coroutine::Outside;
  if (co.top || co.outside == Outside::kCall) return ran_calls(co, from, to, clock);
  const bool idle = co.outside == Outside::kIdle;
  if (turns && from < to) turns->returns(ledger_.now(), co);
  ledger_.pass(from, to, idle ? RequestLedger::Time::kIdle : RequestLedger::Time::kUnknown, clock);
  return kNoRequest;
}

// Whether what runs in the coroutine is no request's, but resumes those that are.
bool RequestStream::is_host(const Coroutine& co) {
  return !hosts_.empty() && hosts_.contains(co.id) && !work_of(co).request;
}

RequestStream::Work RequestStream::work_of(const Coroutine& co) {
  const Entry* e = entries_.find(co);
  if (e == nullptr) return {};
  const RequestId request = owner(*e).life;
  const bool by_own_call = rules_.by_call() && e->depth && !ledger_.lives(e->outer);
  return {request, request && by_own_call ? e->depth : 1};
}

RequestId RequestStream::request_at_end(const Coroutine& co) {
  const Entry* e = entries_.find(co);
  if (e == nullptr) return kNoRequest;
  for (const RequestId id : {e->outer, e->life})
    if (id && (ledger_.lives(id) || ledger_[id].sums.unfinished)) return id;
  return kNoRequest;
}

RequestId RequestStream::ran_calls(Coroutine& co, uint64_t from, uint64_t to, const Clock& clock) {
  Entry* e = entries_.find(co);
  if (e && e->asked && e->open && !ledger_.lives(e->outer)) outermost(*e, e->bottom, Seen::kOpen);
  const Owner of = e ? owner(*e) : Owner{};
  if (is_host(co)) {
    if (turns && from < to) turns->host_runs(ledger_.now());
    ledger_.pass(from, to, RequestLedger::Time::kIdle, clock);
    return kNoRequest;
  }
  if (from < to) begin_turn(co, false);
  const uint64_t ns = ledger_.pass(from, to, RequestLedger::Time::kBusy, clock);
  if (of.life) ledger_.ran(of.life, of.phase, e->id, ns);
  if (turns) turns->ran(of.life, of.phase, ns);
  return of.life;
}

void RequestStream::worked(const Coroutine& co, VmWork work, uint64_t ns) {
  const Entry* e = entries_.find(co);
  if (const RequestId life = e ? owner(*e).life : kNoRequest) ledger_.worked(life, work, ns);
}

// -- Turns --

void RequestStream::begin_turn(const Coroutine& co, bool reported) {
  if (turns == nullptr || is_host(co)) return;
  const bool known = co.top == 1 && !co.hidden;
  if (turns->is_open() && known) turns->name_entry(called_.function_of(co.frames[1].node));
  if (turns->is_open()) return;
  const bool begun_before = reported && !co.resumed;
  const FunctionId entry =
      co.top ? called_.function_of(co.frames[1].node) : kUnknownFunction;  // After a gap.
  turns->begin(ledger_.now(), entry, begun_before);
}

// -- Waits --

// What the request waits in: the function in which its main coroutine is suspended, or that of the
// coroutine that this one waits for; without it, that of the coroutine suspended last. `from`: the
// coroutine that it is taken from.
RequestState RequestStream::state_of(const RequestLife& life, EntryId& from) {
  const auto is_waiting = [&](EntryId id) { return id && entries_[id].waiting; };
  from = is_waiting(life.main) ? life.main : life.waiting;
  if (!is_waiting(from)) return {};
  const Entry& main = entries_[from];
  const RequestState own{main.wait, kNoFunction, main.phase, main.id};
  if (!rules_.of(main.wait, called_).waits_for_others) return own;
  const EntryId other = life.waiting == from ? main.next : life.waiting;
  if (!is_waiting(other)) return own;
  from = other;
  return {own.function, entries_[other].wait, own.phase, own.coroutine};
}

// A coroutine that yields to the host waits. If it yields to a call that works for a request it is
// a generator of it; if that works for none, it is the host: a scheduler written in Lua.
void RequestStream::yielded(Coroutine& co, const Coroutine* resumer) {
  if (turns) turns->returns(ledger_.now(), co);
  Entry* e = entries_.find(co);
  if (e == nullptr || !co.top || !ledger_.lives(e->life) || ledger_[e->life].doubtful) return;
  if (resumer && resumer->top) {
    const Entry* by = entries_.find(*resumer);
    if (ledger_.lives(e->outer) || (by && owner(*by).life)) return;
    hosts_.insert(resumer->id);
    if (turns) turns->host_runs(ledger_.now());
  }
  FunctionId function = called_.function_of(co.frames[co.top].node);
  if (rules_.of(function, called_).in_nginx) bounds_.in_nginx();
  const bool yields = called_.is_builtin(function) || rules_.of(function, called_).yields;
  if (called_.is_builtin(function) && co.top > 1)  // coroutine.yield says nothing.
    function = called_.function_of(co.frames[co.top - 1].node);
  entries_.wait(*e, function, yields, ledger_[e->life]);
  EntryId from;
  const RequestState state = state_of(ledger_[e->life], from);
  const bool begins = from == co.request_entry || ledger_[e->life].main == co.request_entry;
  ledger_.waits(e->life, state, begins);
}

void RequestStream::resumed(Coroutine& co) {
  Entry* e = entries_.find(co);
  if (e == nullptr || !e->waiting) return;
  entries_.wake(*e, ledger_[e->life]);
  if (!ledger_.lives(e->life)) return;
  EntryId from;
  const RequestState state = state_of(ledger_[e->life], from);
  ledger_.waits(e->life, state, false);
}

// -- Live reading --

// A timer that ran before the host was known to be nginx is named by its function.
static void name_timer(RequestSums& timer) {
  if (timer.phases.empty() || !timer.phases[0].function) return;
  RequestPhase first = timer.phases[0];
  if (first.function == kTimerFunction) return;
  timer.phases.erase(timer.phases.begin());
  RequestPhase& named = phase_of(timer, kTimerFunction);
  named.running_ns += first.running_ns;
  named.wait_ns += first.wait_ns;
}

// What refers to a request that has ended means no more than none, except as a member of its list.
void RequestStream::take_ended(std::vector<RequestSums>& out, StreamId number) {
  constexpr size_t kMaxBeforeGap = 1 << 20;
  for (Entry& e : entries_) {
    if (!ledger_.lives(e.outer)) e.outer = kNoRequest;
    if (e.life && !ledger_.lives(e.life)) work_for(e, kNoRequest);
  }
  std::erase_if(before_gap_, [this](const auto& entry) { return !ledger_.lives(entry.second); });
  if (before_gap_.size() > kMaxBeforeGap) before_gap_.clear();
  const size_t first = out.size();
  ledger_.move_to(out, number);
  for (size_t i = first; i < out.size(); i++) {
    out[i].timer &= bounds_.is_nginx();
    if (out[i].timer) name_timer(out[i]);
  }
}

// -- Results --

RequestLog::RequestLog(const std::vector<std::string>& by, const Wanted& wanted)
    : rules_(by), wanted_(wanted) {
  if (wanted.number) trail_ = std::make_shared<RequestTrail>();
}

void RequestLog::keep_steps(size_t limit) {
  steps_ = std::make_shared<RequestStepLog>(limit);
}

RequestStream& RequestLog::stream(StreamId number, const CalledFunctions& called) {
  const auto [it, fresh] = streams_.try_emplace(number, called, rules_);
  if (fresh && wanted_.number && number == wanted_.stream)
    it->second.ledger().watch(wanted_.number, trail_.get());
  if (fresh) it->second.ledger().limit(range_);
  if (fresh && steps_) it->second.ledger().record_steps(steps_.get(), number);
  if (fresh && turns_) it->second.turns = &turns_->stream(number);
  return it->second;
}

void RequestLog::add(const RequestLog& other) {
  if (trail_ && trail_->steps().empty() && !trail_->watch) trail_ = other.trail_;
  range_ = other.range_;
  requests_.insert(requests_.end(), other.requests_.begin(), other.requests_.end());
  if (turns_) turns_->add(*other.turns_);
}

void RequestLog::finish(const Clock& clock) {
  if (trail_ && trail_->watch) trail_->calls.finish(trail_->watch, {}, 0, clock);
  for (auto& [number, stream] : streams_) stream.take_ended(requests_, number);
  streams_.clear();
  for (RequestSums& r : requests_) {
    r.begun_before |= r.begin.tick < range_.from;
    r.unfinished |= r.end.tick > range_.to;
  }
}

std::vector<const RequestSums*> RequestLog::requests() const {
  std::vector<const RequestSums*> out;
  for (const RequestSums& r : requests_) out.push_back(&r);
  std::sort(out.begin(), out.end(), [](const RequestSums* a, const RequestSums* b) {
    return std::tie(a->begin.tick, a->stream, a->number) <
           std::tie(b->begin.tick, b->stream, b->number);
  });
  return out;
}

}  // namespace luatrace::analyze
