// SPDX-License-Identifier: MIT
// What requests did when, step by step: for --request one of them with its call tree, for the page
// the slowest ones.
//
// Invariants: the steps of a request cover its life, or its beginning, without overlap, in order of
// time; a log of many requests keeps a number of steps that does not depend on the trace.
#pragma once

#include <vector>

#include "analyzer/collect/observers.h"
#include "analyzer/collect/request_ledger.h"

namespace luatrace::analyze {

struct RequestStep {
  uint64_t from_ns = 0, ns = 0;  // On the stream's clock, RequestClock::total.
  uint64_t others_ns = 0;        // In which others held the worker.
  bool runs = false;
  FunctionId function, inner;  // Runs: the phase; otherwise as in RequestWait.
  FunctionId phase{};          // Waits: the phase that waits.
  CoroutineId coroutine{};     // That runs, or waits.
};

class RequestSteps {
 public:
  // Beyond `limit` steps, the last one gets all the rest. apart: steps of different coroutines and
  // phases are kept apart even if all else is equal.
  explicit RequestSteps(size_t limit, bool apart) : limit_(limit), apart_(apart) {}

  void begin(const RequestClock& at) { mark_ = at; }
  // It ran for `ns` until now: the steps before this are known.
  void ran(const RequestClock& now, FunctionId phase, CoroutineId coroutine, uint64_t ns);
  // Until now it was in this state.
  void was(const RequestClock& now, const RequestState& state);
  // No more steps are kept.
  void close() { limit_ = 0; }

  const std::vector<RequestStep>& steps() const { return steps_; }
  // The time in the last step that belongs to steps that are not kept.
  uint64_t rest_ns() const { return rest_ns_; }
  uint64_t rest_others_ns() const { return rest_others_ns_; }

 private:
  void add(const RequestStep& step);
  bool continues(const RequestStep& last, const RequestStep& step) const;

  size_t limit_;
  bool apart_;
  RequestClock mark_;  // The steps end here.
  uint64_t rest_ns_ = 0, rest_others_ns_ = 0;
  std::vector<RequestStep> steps_;
};

struct RequestTrail : RequestSteps {
  static constexpr size_t kMaxSteps = 100000;
  RequestTrail() : RequestSteps(kMaxSteps, false) {}

  // The call tree, as of a slow call whose function is none; `watch` is 0 before it begins.
  SlowCalls calls{0, true, 1};
  WatchId watch;
};

// The steps of the slowest requests of a file. A request has a number while it lives.
class RequestStepLog {
 public:
  static constexpr size_t kMaxSteps = 1000;  // Of one request.
  struct Kept {
    StreamId stream;
    uint32_t request = 0;  // In its stream.
    uint64_t wall = 0;     // 0 while it lives.
    RequestSteps steps{kMaxSteps, true};
  };

  // Keeps up to twice as many steps, and `limit` in the end; 0: none.
  explicit RequestStepLog(size_t limit) : limit_(limit) {}

  RequestStepsId begin(const RequestClock& at);
  void ran(RequestStepsId id, const RequestClock& now, FunctionId phase, CoroutineId coroutine,
           uint64_t ns);
  void was(RequestStepsId id, const RequestClock& now, const RequestState& state);
  void end(RequestStepsId id, StreamId stream, RequestId request, uint64_t wall);
  // Those of the requests that have ended, the slowest first.
  std::vector<Kept> take();

 private:
  // A request that has no step yet counts, too: it needs space.
  static size_t cost(const Kept& kept) { return 1 + kept.steps.steps().size(); }
  template <class Add>
  void add(RequestStepsId id, Add add);
  void prune(size_t limit);
  void drop(size_t at);

  const size_t limit_;
  size_t steps_ = 0;  // The cost of all, ...
  size_t ended_ = 0;  // ... and of those that have ended.
  uint64_t shortest_ = 1;
  std::vector<Kept> kept_{1};
  std::vector<size_t> free_;
};

}  // namespace luatrace::analyze
