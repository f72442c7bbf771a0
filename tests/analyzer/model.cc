// SPDX-License-Identifier: MIT
// The slow model keeps every call that ever was, and for each stretch of time between two events
// the list of calls that were running in it; everything is then counted by looking at all of them.
#include "model.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

namespace luatrace::analyze::model {
namespace {

struct Coroutine {
  std::vector<size_t> open;  // Indices of calls, outermost first.
  int resumer = -1;
  bool known = true;
  bool waits = false;  // It yielded, and was not resumed since.
  uint64_t yielded = 0;
  Phase origin = Phase::kNotSet;  // That of the call that created it.
};

class Model {
 public:
  Result run(const std::vector<Event>& events) {
    for (const Event& e : events) take(e);
    if (on_) stop();
    count();
    result_.calls = calls_;
    result_.coroutines = seen_.size();
    return result_;
  }

 private:
  // A report is of the moment at which it begins: its time goes by when it is complete.
  void take(const Event& e) {
    if (e.what == Do::kLoss) {
      if (frames_due_ == 0) pass(e.since);
      frames_due_ = 0;
      return lose(e);
    }
    if (frames_due_ == 0 && on_) pass(e.tick);
    if (frames_due_ == 0) now_ = e.tick;
    step(e);
    look_who_is_suspended();
    if (e.what == Do::kFrame) frames_due_--;
    if (e.what == Do::kStack) frames_due_ = e.more;
    // That a coroutine is collected shows only later that nothing runs any more.
    if (e.what == Do::kCollect) std::erase(aside_, static_cast<int>(e.arg));
    if (frames_due_ || e.what == Do::kCollect) return;
    settle_turn();
    if (e.what == Do::kFrame) pass(e.tick);
  }

  Coroutine& co(int id) {
    if (id > 0) seen_.insert(id);
    auto [it, fresh] = coroutines_.try_emplace(id);
    if (fresh) it->second.known = !lost_;
    return it->second;
  }

  std::vector<int> chain() {
    std::vector<int> ids;
    for (int id = current_; id != -1; id = co(id).resumer) ids.push_back(id);
    return ids;
  }

  // Innermost first.
  std::vector<size_t> running_calls() {
    std::vector<size_t> running;
    for (int id : chain()) {
      auto& open = co(id).open;
      running.insert(running.end(), open.rbegin(), open.rend());
    }
    return running;
  }

  // What the outermost call shows, unless something unknown is around it; or else what the
  // outermost coroutine has from its creation. Without a call, kNotSet is the host.
  Phase phase() {
    Coroutine* outermost = nullptr;
    bool known = current_ != -1 || !lost_;
    Phase origin = Phase::kNotSet;
    for (int id : chain()) {
      if (!co(id).open.empty()) outermost = &co(id), known = true, origin = Phase::kNotSet;
      known &= co(id).known;
      if (co(id).origin != Phase::kNotSet) origin = co(id).origin;
    }
    if (!known) return Phase::kNone;
    if (!outermost) return origin;
    const uint32_t function = calls_[outermost->open[0]].function;
    if (function == kAccess) return Phase::kAccess;
    if (function == kLog) return Phase::kLog;
    const bool chunk = function == kChunk && origin == Phase::kTimer;
    return chunk || origin == Phase::kNotSet ? Phase::kNone : origin;
  }

  // The phase of a coroutine that is created now.
  Phase phase_of_new() {
    const Phase now = phase();
    const bool call = current_ != -1 && !co(current_).open.empty();
    const bool timer = call && calls_[co(current_).open.back()].function == kTimerAt;
    return timer || now == Phase::kNotSet ? Phase::kTimer : now;
  }

  // Time goes on to `tick` with nothing changing.
  void pass(uint64_t tick) {
    uint64_t length = tick - now_;
    now_ = tick;
    if (length == 0) return;
    std::vector<size_t> running = running_calls();
    std::set<uint32_t> seen;
    for (size_t i : running) {
      calls_[i].ran += length;
      if (seen.insert(calls_[i].function).second) numbers(calls_[i].function).running += length;
    }
    bool here = current_ != -1 && !co(current_).open.empty();
    bool known = current_ == -1 ? !lost_ : co(current_).known;
    bool all_known = known;
    for (int id : chain()) all_known &= co(id).known;
    const bool gap = !here && (!known || (running.empty() && !all_known));
    result_.stretches.push_back(
        {tick - length, tick, running, gap, current_, phase(), chain(), suspended_});
    if (gap || (running.empty() && aside_.empty())) end_turn(tick - length);
    if (gap)
      result_.gap += length;
    else if (running.empty())
      result_.idle += length;
    else
      numbers(calls_[running[0]].function).self += length;
  }

  Numbers& numbers(uint32_t function) { return result_.functions[function]; }

  void open(uint32_t function, bool seen) {
    auto& stack = co(current_).open;
    bool nested = std::any_of(stack.begin(), stack.end(),
                              [&](size_t i) { return calls_[i].function == function; });
    auto outer = running_calls();
    stack.push_back(calls_.size());
    calls_.push_back({function, now_, 0, seen, false, nested, 0, current_, outer});
    if (seen) numbers(function).calls++;
  }

  void close(Coroutine& c, bool seen) {
    Call& call = calls_[c.open.back()];
    call.end = now_;
    call.end_seen = seen;
    c.open.pop_back();
  }

  void end_turn(uint64_t at) {
    if (turn_ && turn_->begin < at) result_.turns.push_back({turn_->begin, at, turn_->function});
    turn_.reset();
  }

  void settle_turn() {
    const std::vector<size_t> running = running_calls();
    for (const int id : chain()) std::erase(aside_, id);
    if (running.empty() && aside_.empty()) return end_turn(now_);
    if (turn_ || running.empty()) return;
    turn_ = Turn{now_, 0, calls_[running.back()].function};
  }

  // A C function of the current coroutine calls into another one, or comes back.
  void switch_to(int id) {
    const auto back = std::find(aside_.begin(), aside_.end(), id);
    if (id != current_ && back != aside_.end())
      aside_.erase(back, aside_.end());
    else if (id != current_ && !running_calls().empty())
      aside_.push_back(current_);
    current_ = id;
  }

  uint64_t close_all(bool seen) {
    uint64_t n = 0;
    end_turn(now_);
    aside_.clear();
    const std::vector<int> running = chain();  // C code may use the stack of one that waits.
    for (auto& [id, c] : coroutines_) {
      if (std::find(running.begin(), running.end(), id) == running.end()) end_wait(c, false);
      for (; !c.open.empty(); n++) close(c, seen);
    }
    coroutines_.clear();
    current_ = -1;
    return n;
  }

  void stop() {
    result_.open_end += close_all(false);
    result_.traced += now_ - began_;
    on_ = false;
  }

  void lose(const Event& e) {
    result_.open_gap += close_all(false);
    result_.lost += e.arg;
    if (e.tick > now_) result_.stretches.push_back({now_, e.tick, {}, true, -1, Phase::kNone});
    result_.gap += e.tick - now_;
    now_ = e.tick;
    lost_ = true;
  }

  void look_who_is_suspended() {
    const std::vector<int> running = chain();
    for (const auto& [id, c] : coroutines_)
      if (id == -1 || std::find(running.begin(), running.end(), id) != running.end())
        suspended_.erase(id);
      else if (suspended_.try_emplace(id, suspensions_).second)
        suspensions_++;
    std::erase_if(suspended_, [this](const auto& s) { return !coroutines_.count(s.first); });
  }

  // Its innermost call waited.
  void end_wait(Coroutine& c, bool resumed) {
    if (!std::exchange(c.waits, false) || c.open.empty()) return;
    const uint32_t function = calls_[c.open.back()].function;
    result_.single_waits.push_back({function, c.yielded, now_, resumed});
    Waits& w = result_.waits[function];
    if (!resumed) return static_cast<void>(w.unfinished++);
    w.count++;
    w.sum += now_ - c.yielded;
    w.max = std::max(w.max, now_ - c.yielded);
  }

  void resume(int id) {
    end_wait(co(id), true);
    co(id).resumer = current_;
    current_ = id;
    result_.resumes.push_back({id, now_});
  }

  void leave_coroutine(bool forget) {
    int gone = current_;
    co(gone).waits = !forget;
    co(gone).yielded = now_;
    current_ = co(gone).resumer;
    co(gone).resumer = -1;
    if (forget) coroutines_.erase(gone);
  }

  size_t close_all(int id, bool seen);
  void step(const Event& e);
  void count();

  Result result_;
  std::vector<Call> calls_;
  std::map<int, Coroutine> coroutines_;
  int current_ = -1;
  std::vector<int> aside_;  // Coroutines of which a C function runs while others are current.
  std::optional<Turn> turn_;
  bool on_ = false, lost_ = false;
  uint32_t frames_due_ = 0;
  std::set<int> seen_;
  std::map<int, size_t> suspended_;  // As in Stretch.
  size_t suspensions_ = 0;
  uint64_t now_ = 0, began_ = 0;
};

// Returns how many there were.
size_t Model::close_all(int id, bool seen) {
  const size_t calls = co(id).open.size();
  while (!co(id).open.empty()) close(co(id), seen);
  return calls;
}

void Model::step(const Event& e) {
  int arg = static_cast<int>(e.arg);
  switch (e.what) {
    case Do::kStart:
      on_ = true;
      began_ = now_;
      break;
    case Do::kStop:
      stop();
      break;
    case Do::kEntry:
      open(e.arg, true);
      break;
    case Do::kReturn:
    case Do::kTail:
      close(co(current_), true);
      break;
    case Do::kUnwind:
      for (uint32_t i = 0; i < e.arg; i++) close(co(current_), true);
      result_.unwound += e.arg;
      break;
    case Do::kCreate:
      co(arg).known = true;
      co(arg).origin = phase_of_new();
      break;
    case Do::kResume:
      resume(arg);
      break;
    case Do::kYield:
    case Do::kDone:
      leave_coroutine(e.what == Do::kDone);
      break;
    case Do::kError:
      result_.unwound += close_all(current_, true);
      leave_coroutine(true);
      break;
    case Do::kCollect:
      if (!coroutines_.count(arg)) break;
      end_wait(co(arg), false);
      result_.abandoned += close_all(arg, true);
      coroutines_.erase(arg);
      break;
    case Do::kBlock:
    case Do::kSwitch:
      switch_to(arg);
      break;
    case Do::kStack:
      switch_to(arg);
      (co(arg).known ? result_.truncated : result_.open_gap) += close_all(arg, false);
      co(arg).known = true;
      break;
    case Do::kFrame:
      open(e.arg, false);
      if (!lost_) result_.open_start++;
      break;
    case Do::kLoss:
      break;
  }
  if (current_ != -1) co(current_);
}

void Model::count() {
  for (const Call& c : calls_) {
    Numbers& n = numbers(c.function);
    if (!c.nested) n.wall += c.end - c.begin;
    if (!c.begin_seen || !c.end_seen) continue;
    n.min = n.complete ? std::min(n.min, c.ran) : c.ran;
    n.max = std::max(n.max, c.ran);
    n.sum += c.ran;
    n.complete++;
  }
}

// A Lua VM as it really is, and what of it is recorded.
class Program {
 public:
  Program(uint64_t seed, bool calls_resumers)
      : state_(seed * 0x9e3779b97f4a7c15u + 1), calls_resumers_(calls_resumers) {}

  std::vector<Event> run(size_t length) {
    coroutines_[1] = {};
    chain_ = {1};
    for (size_t i = random(12); i > 0; i--) step();  // Before the recording.
    events_.clear();
    recording_ = true;
    reported_.clear();
    linked_.clear();
    emit(Do::kStart);
    emit(Do::kBlock, chain_.back());
    report(chain_.back(), false);
    while (events_.size() < length) {
      step();
      if (random(60) == 0) lose();
    }
    if (random(3)) emit(Do::kStop);
    return events_;
  }

 private:
  struct Co {
    std::vector<uint32_t> stack;
    bool suspended = false;
  };

  uint64_t random(uint64_t n) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return (state_ >> 11) % n;
  }

  void emit(Do what, uint32_t arg = 0, uint32_t more = 0) {
    now_ += random(4) ? random(50) : 0;
    lost_ += !recording_;
    if (recording_) events_.push_back({now_, what, arg, more, 0, false});
  }

  void report(uint32_t id, bool after_loss) {
    auto& stack = coroutines_[id].stack;
    emit(Do::kStack, id, static_cast<uint32_t>(stack.size()));
    if (recording_) events_.back().after_loss = after_loss;
    // Now and then the ring is full in the middle of it.
    const size_t frames = random(12) ? stack.size() : random(stack.size() + 1);
    for (size_t i = 0; i < frames; i++) emit(Do::kFrame, stack[i]);
    if (recording_) reported_.insert(id);
    if (frames < stack.size() && recording_) lose();
  }

  // The coroutine that runs now had calls that the recording does not know.
  void look() {
    if (recording_ && !reported_.count(chain_.back())) report(chain_.back(), false);
  }

  void lose() {
    recording_ = false;
    lost_ = 0;
    uint64_t since = now_ += random(30);
    for (size_t i = 1 + random(30); i > 0 || lost_ == 0; i -= i > 0) step();
    recording_ = true;
    uint64_t n = lost_;
    emit(Do::kLoss, static_cast<uint32_t>(n));
    events_.back().since = since;
    reported_.clear();
    linked_.clear();
    report(chain_.back(), true);
  }

  void step();
  void call();
  void leave();
  void coroutine();
  void resume(uint32_t id);
  void suspend(Do how);
  void host_calls(uint32_t suspended);
  void host_returns();
  uint32_t a_suspended();

  uint64_t state_, now_ = 1000, lost_ = 0;
  const bool calls_resumers_;
  bool recording_ = false;
  std::map<uint32_t, Co> coroutines_;
  std::vector<uint32_t> chain_;                  // Running: main first.
  std::vector<std::vector<uint32_t>> switched_;  // Chains that a switch put aside.
  size_t outer_ = 1;  // How many of chain_ cannot be suspended now; a C function called the last.
  uint32_t next_ = 2;
  std::set<uint32_t> reported_;  // Whose stack the recording knows, ...
  std::set<uint32_t> linked_;    // ... and of whom who resumed it.
  std::vector<Event> events_;
};

uint32_t Program::a_suspended() {
  std::vector<uint32_t> ids;
  for (auto& [id, co] : coroutines_)
    if (co.suspended) ids.push_back(id);
  return ids.empty() ? 0 : ids[random(ids.size())];
}

void Program::call() {
  uint32_t f = 1 + static_cast<uint32_t>(random(9));
  emit(Do::kEntry, f);
  coroutines_[chain_.back()].stack.push_back(f);
}

void Program::leave() {
  auto& stack = coroutines_[chain_.back()].stack;
  if (stack.empty()) return;
  uint64_t how = random(8);
  if (how == 0) {
    auto n = static_cast<uint32_t>(1 + random(stack.size()));
    stack.resize(stack.size() - n);
    return emit(Do::kUnwind, n, stack.empty() ? 0 : stack.back());
  }
  emit(how == 1 ? Do::kTail : Do::kReturn, stack.back());
  stack.pop_back();
}

void Program::resume(uint32_t id) {
  emit(Do::kResume, id);
  if (recording_) linked_.insert(id);
  coroutines_[id].suspended = false;
  chain_.push_back(id);
  look();
}

void Program::suspend(Do how) {
  if (chain_.size() <= outer_) return;
  auto id = chain_.back();
  if (how == Do::kDone)
    while (!coroutines_[id].stack.empty()) {
      emit(Do::kReturn, coroutines_[id].stack.back());
      coroutines_[id].stack.pop_back();
    }
  emit(how);
  chain_.pop_back();
  if (how == Do::kYield)
    coroutines_[id].suspended = true;
  else
    coroutines_.erase(id);
  if (!linked_.erase(id) && reported_.count(chain_.back())) emit(Do::kSwitch, chain_.back());
  look();
}

// A C function calls a function in a suspended coroutine, or in one of those that resumed its own
// (what a library does that keeps the lua_State it was opened in) ...
void Program::host_calls(uint32_t suspended) {
  const bool outwards = calls_resumers_ && chain_.size() > 1 && random(2);
  if (!outwards && (!suspended || chain_.size() > 4)) return;
  switched_.push_back(chain_);
  if (outwards)
    chain_.resize(outer_ = 1 + random(chain_.size() - 1));
  else
    chain_ = {suspended};
  coroutines_[chain_.back()].suspended = false;
  emit(Do::kSwitch, chain_.back());
  look();
}

// ... and comes back from there.
void Program::host_returns() {
  if (chain_.size() != outer_) return;
  coroutines_[chain_.back()].suspended =
      std::find(switched_[0].begin(), switched_[0].end(), chain_.back()) == switched_[0].end();
  chain_ = switched_.back();
  switched_.pop_back();
  outer_ = 1;
  emit(Do::kSwitch, chain_.back());
  look();
}

void Program::coroutine() {
  uint32_t id = a_suspended();
  switch (random(8)) {
    case 0:
    case 1:
      if (chain_.size() > 4) return;
      emit(Do::kCreate, next_);
      reported_.insert(next_);
      coroutines_[next_] = {};
      coroutines_[next_].suspended = true;
      if (random(4))
        resume(next_++);
      else
        next_++;
      return;
    case 2:
      return suspend(Do::kDone);
    case 3:
      return random(3) ? suspend(Do::kYield) : suspend(Do::kError);
    case 4:
      if (!id || random(2)) return;
      emit(Do::kCollect, id);
      coroutines_.erase(id);
      return;
    case 5:
      return switched_.empty() ? host_calls(id) : host_returns();
    default:
      if (random(2)) return suspend(Do::kYield);
      if (id && chain_.size() < 5) resume(id);
  }
}

void Program::step() {
  switch (random(10)) {
    case 0:
    case 1:
    case 2:
      return coroutine();
    case 3:
    case 4:
    case 5:
    case 6:
      return call();
    default:
      return leave();
  }
}

}  // namespace

std::vector<Event> generate(uint64_t seed, size_t length, bool calls_resumers) {
  return Program(seed, calls_resumers).run(length);
}
Result evaluate(const std::vector<Event>& events) {
  return Model().run(events);
}

std::string to_text(const std::vector<Event>& events) {
  static const char* names[] = {
      "start",  "stop detach", "entry",         "return",       "tail",          "unwind",
      "create", "resume",      "suspend yield", "suspend done", "suspend error", "collect",
      "switch", "stack",       "frame",         "loss",         "ringblock"};
  std::string out;
  for (const Event& e : events) {
    out += std::to_string(e.tick) + ' ' + names[static_cast<int>(e.what)];
    std::string arg = std::to_string(e.arg), more = std::to_string(e.more);
    switch (e.what) {
      case Do::kStart:
      case Do::kStop:
      case Do::kYield:
      case Do::kDone:
      case Do::kError:
        break;
      case Do::kUnwind:
        out += ' ' + arg + " top=" + (e.more ? more : "-");
        break;
      case Do::kStack:
        out += ' ' + arg + (e.after_loss ? " loss n=" : " resumed n=") + more;
        break;
      case Do::kLoss:
        out += ' ' + arg + " since=" + std::to_string(e.since);
        break;
      case Do::kBlock:
        out += " co=" + arg + " tid=7 rec=1";
        break;
      default:
        out += ' ' + arg;
    }
    out += '\n';
  }
  return out;
}

}  // namespace luatrace::analyze::model
