// SPDX-License-Identifier: MIT
#include "analyzer/collect/request_ledger.h"

#include <algorithm>
#include <utility>

#include "analyzer/collect/request_trail.h"

namespace luatrace::analyze {

uint64_t RequestLedger::pass(uint64_t from, uint64_t to, Time kind, const Clock& clock) {
  now_.total = std::max(now_.total, clock.ns(range_.clamp(from)));
  const uint64_t ns = std::max(now_.total, clock.ns(range_.clamp(to))) - now_.total;
  now_.total += ns;
  if (kind == Time::kBusy) now_.busy += ns;
  if (kind == Time::kIdle) now_.idle += ns;
  now_.tick = std::max(now_.tick, to);
  ran_last_ = kNoRequest;
  return ns;
}

void RequestLedger::add_to_list(RequestId id) {
  List& list = list_of(lives_[id]);
  lives_[id].place = static_cast<uint32_t>(list.size());
  list.push_back(id);
}

void RequestLedger::remove_from_list(RequestId id) {
  const RequestLife& life = lives_[id];
  List& list = list_of(life);
  lives_[list.back()].place = life.place;
  list[life.place] = list.back();
  list.pop_back();
}

RequestId RequestLedger::begin(uint64_t address, const RequestClock& since) {
  if (free_.empty()) {
    free_.emplace_back(static_cast<uint32_t>(lives_.size()));
    lives_.emplace_back();
  }
  const RequestId id = free_.back();
  free_.pop_back();
  RequestLife& life = lives_[id] = {};
  life.sums.number = last_number_ ? ++*last_number_ : uint32_t{id};
  life.address = address;
  life.sums.begin = since;
  life.last = now_;
  life.since = now_.idle;
  add_to_list(id);
  if (address) by_address_[address] = id;
  if (watches(id)) trail_->begin(since);
  if (steps_) life.steps = steps_->begin(since);
  return id;
}

RequestId RequestLedger::find(uint64_t address) const {
  const auto it = by_address_.find(address);
  return it != by_address_.end() && lives(it->second) ? it->second : kNoRequest;
}

void RequestLedger::ran(RequestId id, FunctionId phase, CoroutineId coroutine, uint64_t ns) {
  RequestLife& life = lives_[id];
  RequestClock before = now_;
  before.total -= ns;
  before.busy -= ns;
  add_step(id, before);  // Another one of its coroutines may wait.
  if (watches(id)) trail_->ran(now_, phase, coroutine, ns);
  if (steps_) steps_->ran(life.steps, now_, phase, coroutine, ns);
  life.sums.own += ns;
  ran_last_ = id;
  phase_of(life.sums, phase).running_ns += ns;
  life.last = now_;
}

// Of a call that began before the request, or around another such call, the rest is left out.
void RequestLedger::worked(RequestId id, VmWork work, uint64_t ns) {
  if (work == VmWork::kRecording) return;  // It has no column.
  RequestSums& sums = lives_[id].sums;
  ns = std::min(ns, sums.own - sums.collector - sums.compiler);
  (work == VmWork::kCollector ? sums.collector : sums.compiler) += ns;
}

// Both were rounded.
void RequestLedger::off_cpu(uint64_t ns) {
  if (!lives(ran_last_)) return;
  RequestSums& sums = lives_[ran_last_].sums;
  sums.off_cpu += std::min(ns, sums.own - sums.off_cpu);
}

// Until `at` it was in its state.
void RequestLedger::add_step(RequestId id, const RequestClock& at) {
  const RequestLife& life = lives_[id];
  if (watches(id)) trail_->was(at, life.state);
  if (steps_) steps_->was(life.steps, at, life.state);
}

void RequestLedger::settle_wait(RequestLife& life, uint64_t idle) {
  const uint64_t ns = idle - std::min(idle, life.since);
  life.since = std::max(idle, life.since);
  if (!life.state.function || ns == 0) return;
  RequestWait& wait = wait_of(life.sums, life.state.function, life.state.inner);
  wait.ns += ns;
  wait.count += std::exchange(life.uncounted, false);
  phase_of(life.sums, life.state.phase).wait_ns += ns;
}

void RequestLedger::waits(RequestId id, RequestState state, bool begins) {
  RequestLife& life = lives_[id];
  add_step(id, now_);
  settle_wait(life, now_.idle);
  life.state = state;
  life.last = now_;
  life.uncounted = begins && now_.tick < range_.from;
  if (begins && state.function && range_.has(now_.tick))
    wait_of(life.sums, state.function, state.inner).count++;
}

void RequestLedger::end(RequestId id, const RequestClock& at, bool unfinished) {
  RequestLife& life = lives_[id];
  add_step(id, at);
  settle_wait(life, at.idle);
  life.sums.end = at;
  if (steps_) steps_->end(life.steps, stream_, id, life.sums.wall());
  life.sums.unfinished = unfinished;
  remove_from_list(id);
  life.lives = false;
  ended_.push_back(id);
  if (const auto it = by_address_.find(life.address); it != by_address_.end() && it->second == id)
    by_address_.erase(it);
}

// Those that are in doubt already stay so: a trace with many gaps costs no more.
void RequestLedger::doubt_all() {
  for (const RequestId id : living_) {
    RequestLife& life = lives_[id];
    add_step(id, now_);
    settle_wait(life, now_.idle);
    life.state = {};
    life.open = life.yielding = 0;
    life.last = now_;
    life.doubtful = true;
    life.place = static_cast<uint32_t>(doubtful_.size());
    doubtful_.push_back(id);
  }
  living_.clear();
}

void RequestLedger::confirm(RequestId id) {
  remove_from_list(id);
  lives_[id].doubtful = false;
  lives_[id].last = now_;
  lives_[id].since = now_.idle;
  add_to_list(id);
}

void RequestLedger::end_all() {
  while (!doubtful_.empty()) end(doubtful_.back(), lives_[doubtful_.back()].last, true);
  while (!living_.empty()) {
    const RequestId id = living_.back();
    const bool open = lives_[id].is_open();
    end(id, open ? now_ : lives_[id].last, open);
  }
}

void RequestLedger::move_to(std::vector<RequestSums>& out, StreamId stream) {
  for (const RequestId id : ended_) {
    lives_[id].sums.stream = stream;
    out.push_back(std::move(lives_[id].sums));
  }
  free_.insert(free_.end(), ended_.begin(), ended_.end());
  ended_.clear();
}

// -- Readers that go on --

void RequestLedger::end_quiet(uint64_t before) {
  List quiet;
  for (const List* list : {&living_, &doubtful_})
    for (const RequestId id : *list)
      if (!lives_[id].is_open() && lives_[id].last.total < before) quiet.push_back(id);
  for (const RequestId id : quiet) end(id, lives_[id].last, lives_[id].doubtful);
}

size_t RequestLedger::copy_open(std::vector<RequestSums>& out, StreamId stream,
                                const RequestClock& at, size_t limit) const {
  List open;
  for (const RequestId id : living_)
    if (lives_[id].is_open()) open.push_back(id);
  const size_t count = open.size(), copied = std::min(limit, count);
  const auto key = [this](RequestId id) {
    return std::pair(lives_[id].sums.begin.total, lives_[id].sums.number);
  };
  std::partial_sort(open.begin(), open.begin() + static_cast<ptrdiff_t>(copied), open.end(),
                    [&](RequestId a, RequestId b) { return key(a) < key(b); });
  open.resize(copied);
  for (const RequestId id : open) {
    RequestLife life = lives_[id];
    settle_wait(life, at.idle);
    life.sums.end = at;
    life.sums.stream = stream;
    life.sums.unfinished = true;
    out.push_back(std::move(life.sums));
  }
  return count;
}

}  // namespace luatrace::analyze
