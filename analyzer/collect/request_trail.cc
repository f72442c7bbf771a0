// SPDX-License-Identifier: MIT
#include "analyzer/collect/request_trail.h"

#include <algorithm>

namespace luatrace::analyze {

bool RequestSteps::continues(const RequestStep& last, const RequestStep& step) const {
  const bool same =
      last.runs == step.runs && last.function == step.function && last.inner == step.inner;
  return same && (!apart_ || (last.phase == step.phase && last.coroutine == step.coroutine));
}

void RequestSteps::add(const RequestStep& step) {
  if (step.ns == 0) return;
  const bool full = steps_.size() >= limit_;
  const bool goes_on = !rest_ns_ && !steps_.empty() && continues(steps_.back(), step);
  if (!goes_on && !full) return steps_.push_back(step);
  if (steps_.empty()) return;
  steps_.back().ns += step.ns;
  steps_.back().others_ns += step.others_ns;
  if (goes_on) return;
  rest_ns_ += step.ns;
  rest_others_ns_ += step.others_ns;
}

void RequestSteps::was(const RequestClock& now, const RequestState& state) {
  if (now.total < mark_.total) return;
  add({mark_.total, now.total - mark_.total, now.busy - mark_.busy, false, state.function,
       state.inner, state.phase, state.coroutine});
  mark_ = now;
}

void RequestSteps::ran(const RequestClock& now, FunctionId phase, CoroutineId coroutine,
                       uint64_t ns) {
  add({now.total - ns, ns, 0, true, phase, kNoFunction, phase, coroutine});
  mark_ = now;
}

// -- Many requests --

RequestStepsId RequestStepLog::begin(const RequestClock& at) {
  if (limit_ == 0) return {};
  // If nearly all of them live there is little to drop: then it would not be worth its time.
  if (steps_ >= 2 * limit_ && ended_ >= limit_ / 2) prune(limit_);
  if (steps_ >= 2 * limit_) return {};
  if (free_.empty()) {
    free_.push_back(kept_.size());
    kept_.emplace_back();
  }
  const RequestStepsId id(static_cast<uint32_t>(free_.back()));
  free_.pop_back();
  kept_[id].steps.begin(at);
  steps_ += cost(kept_[id]);
  return id;
}

template <class Add>
void RequestStepLog::add(RequestStepsId id, Add add) {
  if (!id) return;
  Kept& kept = kept_[id];
  if (steps_ >= 3 * limit_) kept.steps.close();
  const size_t before = cost(kept);
  add(kept.steps);
  steps_ += cost(kept) - before;
}

void RequestStepLog::ran(RequestStepsId id, const RequestClock& now, FunctionId phase,
                         CoroutineId coroutine, uint64_t ns) {
  add(id, [&](RequestSteps& steps) { steps.ran(now, phase, coroutine, ns); });
}

void RequestStepLog::was(RequestStepsId id, const RequestClock& now, const RequestState& state) {
  add(id, [&](RequestSteps& steps) { steps.was(now, state); });
}

void RequestStepLog::end(RequestStepsId id, StreamId stream, RequestId request, uint64_t wall) {
  if (!id) return;
  if (wall < shortest_) return drop(id);
  Kept& kept = kept_[id];
  kept.stream = stream;
  kept.request = request;
  kept.wall = wall;
  ended_ += cost(kept);
}

void RequestStepLog::drop(size_t at) {
  steps_ -= cost(kept_[at]);
  if (kept_[at].wall) ended_ -= cost(kept_[at]);
  kept_[at] = {};
  free_.push_back(at);
}

// Drops the fastest of those that have ended until `limit` steps are left.
void RequestStepLog::prune(size_t limit) {
  std::vector<size_t> ended;
  for (size_t i = 1; i < kept_.size(); i++)
    if (kept_[i].wall) ended.push_back(i);
  std::sort(ended.begin(), ended.end(),
            [&](size_t a, size_t b) { return kept_[a].wall < kept_[b].wall; });
  for (const size_t at : ended) {
    if (steps_ <= limit) break;
    shortest_ = std::max(shortest_, kept_[at].wall);
    drop(at);
  }
}

std::vector<RequestStepLog::Kept> RequestStepLog::take() {
  if (steps_ > limit_) prune(limit_);
  std::vector<Kept> out;
  for (size_t i = 1; i < kept_.size(); i++)
    if (kept_[i].wall) out.push_back(std::move(kept_[i]));
  kept_.resize(1);
  std::sort(out.begin(), out.end(), [](const Kept& a, const Kept& b) {
    return std::tuple(b.wall, a.stream, a.request) < std::tuple(a.wall, b.stream, b.request);
  });
  return out;
}

}  // namespace luatrace::analyze
