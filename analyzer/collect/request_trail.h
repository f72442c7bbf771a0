// SPDX-License-Identifier: MIT
// --request: what one request did when, step by step, and its call tree.
//
// Invariant: the steps cover the request's life without overlap, in order of time.
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
};

class RequestTrail {
 public:
  // Beyond this many steps, the last one gets all the rest.
  static constexpr size_t kMaxSteps = 100000;

  void begin(const RequestClock& at) { mark_ = at; }
  // It ran for `ns` until now.
  void ran(const RequestClock& now, FunctionId phase, uint64_t ns);
  // Until now it was in this state.
  void was(const RequestClock& now, const RequestState& state);
  const std::vector<RequestStep>& steps() const { return steps_; }

  // The call tree, as of a slow call whose function is none; `watch` is 0 before it begins.
  SlowCalls calls{0, true, 1};
  WatchId watch;

 private:
  void add(RequestStep step);

  RequestClock mark_;  // The steps end here.
  std::vector<RequestStep> steps_;
};

}  // namespace luatrace::analyze
