// SPDX-License-Identifier: MIT
#include "analyzer/collect/turns.h"

#include <algorithm>
#include <utility>

#include "analyzer/collect/keep_largest.h"

namespace luatrace::analyze {
namespace {

const std::vector<BusyTime>& lives_of(const RequestLives& lives, StreamId stream) {
  static const std::vector<BusyTime> kNone;
  const auto it = lives.find(stream);
  return it == lives.end() ? kNone : it->second;
}

std::vector<uint32_t> sorted_by(const std::vector<BusyTime>& lives, uint64_t BusyTime::*time) {
  std::vector<uint32_t> numbers;
  for (uint32_t i = 0; i < lives.size(); i++)
    if (lives[i].begin < lives[i].end) numbers.push_back(i);
  std::stable_sort(numbers.begin(), numbers.end(),
                   [&](uint32_t a, uint32_t b) { return lives[a].*time < lives[b].*time; });
  return numbers;
}

}  // namespace

void TurnSums::add(const Turn& turn) {
  Times::add(turn.ns);
  ns += turn.ns;
  delayed_ns += turn.delayed_ns;
}

TurnSums& TurnSums::operator+=(const TurnSums& other) {
  Times::operator+=(other);
  ns += other.ns;
  delayed_ns += other.delayed_ns;
  return *this;
}

// -- One stream --

TurnStream::TurnStream(StreamId stream, const RequestLives& lives, TurnLog& log)
    : log_(log),
      lives_(lives_of(lives, stream)),
      by_begin_{sorted_by(lives_, &BusyTime::begin)},
      by_end_{sorted_by(lives_, &BusyTime::end)} {
  turn_.stream = stream;
}

void TurnStream::begin(const RequestClock& at, FunctionId entry, bool begun_before) {
  open_ = true;
  const StreamId stream = turn_.stream;
  turn_ = {};
  turn_.stream = stream;
  turn_.serial = serial_++;
  turn_.begin = at;
  turn_.entry = entry;
  turn_.begun_before = begun_before || at.tick < log_.range().from;
  owners_.clear();
}

TurnStream::Owner& TurnStream::owner(RequestId request, FunctionId phase) {
  uint32_t& place = grown(places_, request);
  if (place >= owners_.size() || owners_[place].request != request) {
    place = static_cast<uint32_t>(owners_.size());
    owners_.push_back({request, phase, 0});
  }
  return owners_[place];
}

void TurnStream::ran(RequestId request, FunctionId phase, uint64_t ns) {
  if (request && ns) owner(request, phase).ns += ns;
}

void TurnStream::returns(const RequestClock& at, const Coroutine& from) {
  using Outside = Coroutine::Outside;
  if (from.running && from.outside != Outside::kCall) stop(at, from.outside == Outside::kIdle);
}

// No call runs any more; known: the host does.
void TurnStream::stop(const RequestClock& at, bool known) {
  if (!open_ || (known && !interrupted_.empty())) return;
  turn_.unfinished = !known;
  end(at);
}

// A C function that calls into another coroutine without resuming it (nginx's lua module runs
// filters on the main coroutine) still runs when that one's calls have ended.
void TurnStream::switched(const Coroutine& from, const Coroutine& to) {
  const auto known = std::find(interrupted_.begin(), interrupted_.end(), to.id);
  const bool runs = from.top || from.outside == Coroutine::Outside::kCall;
  if (known != interrupted_.end())
    interrupted_.erase(known, interrupted_.end());
  else if (runs && interrupted_.size() < kMaxInterrupted)
    interrupted_.push_back(from.id);
}

void TurnStream::gone(CoroutineId coroutine) {
  std::erase(interrupted_, coroutine);
}

void TurnStream::cut(const RequestClock& at) {
  interrupted_.clear();
  stop(at, false);
}

// Whether others ran during a turn while this owner lived.
bool TurnStream::delays(const Owner& owner, const BusyTime& turn) const {
  if (owner.request >= lives_.size()) return true;
  const BusyTime& life = lives_[owner.request];
  const uint64_t from = std::max(life.begin, turn.begin), to = std::min(life.end, turn.end);
  return to > from && to - from > owner.ns;
}

// Adds the requests that begin in the turn, and how long each one lived in it up to its end.
void TurnStream::enter_lives(const BusyTime& turn) {
  turn_.delayed_ns = living_.size() * (turn.end - turn.begin);
  for (auto& [numbers, next] = by_begin_; next < numbers.size(); next++) {
    const uint64_t begin = lives_[numbers[next]].begin;
    if (begin >= turn.end) return;
    living_.insert(numbers[next]);
    turn_.delayed_ns += turn.end - begin;
  }
}

void TurnStream::leave_lives(const BusyTime& turn) {
  for (auto& [numbers, next] = by_end_; next < numbers.size(); next++) {
    const uint64_t end = lives_[numbers[next]].end;
    if (end > turn.end) return;
    if (living_.erase(numbers[next])) turn_.delayed_ns -= turn.end - end;
  }
}

void TurnStream::name_owner() {
  uint64_t longest = 0;
  for (const Owner& o : owners_) {
    if (o.ns <= longest) continue;
    longest = o.ns;
    turn_.request = o.request;
    turn_.phase = o.phase;
  }
}

void TurnStream::end(const RequestClock& at) {
  open_ = false;
  turn_.ns = at.total - turn_.begin.total;
  turn_.unfinished |= at.tick > log_.range().to;
  if (turn_.ns == 0) return;  // Nobody waited, and there is no telling how many of them there were.
  const BusyTime turn{turn_.begin.busy, at.busy};
  enter_lives(turn);
  std::set<uint32_t> undelayed;
  uint64_t own = 0;
  for (const Owner& o : owners_) {
    own += o.ns;
    if (!delays(o, turn) && living_.contains(o.request)) undelayed.insert(o.request);
  }
  turn_.delayed = turn.begin == turn.end ? 0 : living_.size() - undelayed.size();
  name_owner();
  std::vector<RequestId> list;
  for (auto it = living_.begin(); it != living_.end() && list.size() < kMaxListed; ++it)
    if (turn_.delayed && !undelayed.contains(*it)) list.push_back(RequestId(*it));
  leave_lives(turn);
  turn_.delayed_ns -= std::min(own, turn_.delayed_ns);
  turn_.delayed_list = std::move(list);
  log_.add(turn_);
}

// -- All streams --

TurnStream& TurnLog::stream(StreamId number) {
  return streams_.try_emplace(number, number, lives_, *this).first->second;
}

uint64_t TurnLog::rank(const Turn& turn) const {
  if (by_ == By::kStart) return UINT64_MAX - turn.begin.total;
  return by_ == By::kDelayed ? turn.delayed_ns : turn.ns;
}

void TurnLog::keep(const Turn& turn) {
  keep_largest(kept_, limit_, turn, [&](const Turn& t) { return rank(t); });
}

void TurnLog::add(const Turn& turn) {
  keep(turn);
  sums_[turn.entry].add(turn);
}

void TurnLog::add(const TurnLog& other) {
  for (const Turn& turn : other.kept_) keep(turn);
  for (const auto& [entry, sums] : other.sums_) sums_[entry] += sums;
}

std::optional<TurnLog::By> find_turn_order(const std::string& sort) {
  if (sort == "wall") return TurnLog::By::kWall;
  if (sort == "start") return TurnLog::By::kStart;
  if (sort == "delayed") return TurnLog::By::kDelayed;
  return std::nullopt;
}

}  // namespace luatrace::analyze
