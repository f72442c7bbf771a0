// SPDX-License-Identifier: MIT
#include "analyzer/collect/request_sink.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace luatrace::analyze {

void RequestTotals::add(const RequestSums& r) {
  if (r.timer) return void(timers++);
  count++;
  wall_ns += r.wall();
  running_ns += r.own;
  wait_ns += r.waited();
  others_ns += r.others();
  unattributed_ns += r.unattributed();
  if (!r.begun_before && !r.unfinished) walls.add(r.wall());
}

void RequestInterval::add(RequestSums request, const RequestRank& rank, size_t limit) {
  ended.add(request);
  const auto above = [&](const RequestSums& a, const RequestSums& b) {
    return std::tuple(!a.timer, rank(a), b.number) > std::tuple(!b.timer, rank(b), a.number);
  };
  first.push_back(std::move(request));
  std::push_heap(first.begin(), first.end(), above);
  if (first.size() <= limit) return;
  std::pop_heap(first.begin(), first.end(), above);
  first.pop_back();
}

// -- What the machines call --

void RequestSink::stream(StreamId number) {
  const auto [it, fresh] = streams_.try_emplace(number);
  current_ = &it->second;
  if (fresh) {
    current_->requests = &log_.stream(number, *this);
    current_->requests->ledger().number_by(&last_number_);
  }
  if (current_->requests->size() > current_->enough)
    take_ended(number, *current_, current_->requests->ledger().now());
}

void RequestSink::add_self_time(Machine& machine, uint64_t from, uint64_t to) {
  current_->machine = &machine;
  current_->requests->ran(machine.current(), from, to, facts_.clock);
}

// As in FilteredProfile: control that switches to a coroutine does not resume it.
void RequestSink::suspended(Coroutine& co, uint64_t, uint64_t, bool resumed) {
  if (!resumed || !co.resumed) return;  // Otherwise there may be no current coroutine.
  if (current_->machine && current_->machine->current().id != co.resumer) return;
  current_->requests->resumed(co);
}

void RequestSink::end_run(uint64_t from, uint64_t to) {
  Coroutine& co = current_->machine->current();
  current_->requests->ran_calls(co, from, to, facts_.clock);
  if (co.top == 0) current_->requests->closed(co, 1);  // The outermost call has ended, too.
}

// -- Intervals --

void RequestSink::take_ended(StreamId number, Stream& stream, const RequestClock& now) {
  constexpr size_t kFew = 1024;
  if (now.total > kQuietNs) stream.requests->ledger().end_quiet(now.total - kQuietNs);
  stream.requests->take_ended(ended_, number);
  for (RequestSums& r : ended_) interval_.add(std::move(r), rank_, limit_);
  ended_.clear();
  stream.enough = 2 * stream.requests->size() + kFew;
}

RequestClock RequestSink::Stream::clock(uint64_t now_ns) const {
  RequestClock now = requests->ledger().now();
  if (now_ns < now.total || now_ns - now.total < kLateNs || !machine) return now;
  const Coroutine& co = machine->current();
  if (co.top || co.outside != Coroutine::Outside::kIdle) return now;
  now.idle += now_ns - now.total;
  now.total = now_ns;
  return now;
}

size_t RequestSink::size() const {
  size_t sum = 0;
  for (const auto& [number, stream] : streams_) sum += stream.requests->size();
  return sum;
}

RequestInterval RequestSink::take(uint64_t now_ns) {
  uint64_t running = 0, idle = 0;
  for (auto& [number, stream] : streams_) {
    const RequestClock now = stream.clock(now_ns);
    take_ended(number, stream, now);
    interval_.open += stream.requests->ledger().copy_open(interval_.oldest, number, now, limit_);
    running += stream.requests->ledger().now().busy;
    idle += stream.requests->ledger().now().idle;
  }
  interval_.running_ns = running - std::exchange(running_ns_, running);
  interval_.idle_ns = idle - std::exchange(idle_ns_, idle);
  auto& oldest = interval_.oldest;
  const size_t count = std::min(limit_, oldest.size());
  std::partial_sort(oldest.begin(), oldest.begin() + static_cast<ptrdiff_t>(count), oldest.end(),
                    [](const auto& a, const auto& b) {
                      return std::pair(b.wall(), a.number) < std::pair(a.wall(), b.number);
                    });
  oldest.resize(count);
  log_.forget_rules();
  return std::exchange(interval_, {});
}

}  // namespace luatrace::analyze
