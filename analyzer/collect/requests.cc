// SPDX-License-Identifier: MIT
#include "analyzer/collect/requests.h"

namespace luatrace::analyze {

uint64_t RequestSums::waited() const {
  uint64_t sum = 0;
  for (const RequestWait& w : waits) sum += w.ns;
  return sum;
}

RequestWait& wait_of(RequestSums& request, FunctionId function, FunctionId inner) {
  for (RequestWait& w : request.waits)
    if (w.function == function && w.inner == inner) return w;
  if (request.waits.size() < kMaxRequestParts)
    return request.waits.emplace_back(RequestWait{function, inner});
  RequestWait& last = request.waits.back();
  last.function = last.inner = kNoFunction;
  return last;
}

RequestPhase& phase_of(RequestSums& request, FunctionId function) {
  for (RequestPhase& p : request.phases)
    if (p.function == function) return p;
  if (request.phases.size() < kMaxRequestParts)
    return request.phases.emplace_back(RequestPhase{function});
  request.phases.back().function = kNoFunction;
  return request.phases.back();
}

}  // namespace luatrace::analyze
