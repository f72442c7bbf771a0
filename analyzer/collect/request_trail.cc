// SPDX-License-Identifier: MIT
#include "analyzer/collect/request_trail.h"

namespace luatrace::analyze {

void RequestTrail::add(RequestStep step) {
  if (step.ns == 0) return;
  RequestStep* last = steps_.empty() ? nullptr : &steps_.back();
  const bool same = last && last->runs == step.runs && last->function == step.function &&
                    last->inner == step.inner;
  if (!same && steps_.size() < kMaxSteps) return steps_.push_back(step);
  last->ns += step.ns;
  last->others_ns += step.others_ns;
}

void RequestTrail::was(const RequestClock& now, const RequestState& state) {
  if (now.total < mark_.total) return;
  add({mark_.total, now.total - mark_.total, now.busy - mark_.busy, false, state.function,
       state.inner});
  mark_ = now;
}

void RequestTrail::ran(const RequestClock& now, FunctionId phase, uint64_t ns) {
  RequestClock before = now;
  before.total -= ns;
  before.busy -= ns;
  was(before, {});
  add({before.total, ns, 0, true, phase, kNoFunction});
  mark_ = now;
}

}  // namespace luatrace::analyze
