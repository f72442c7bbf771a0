// SPDX-License-Identifier: MIT
// Which calls are dropped: those shorter than -t, and those that did not lead to a function of -C.
// This is known only when a call ends. So an earlier pass over the trace decides it; the last pass
// then knows at the beginning of a call whether it is shown.
//
// Invariant: calls are numbered in the order of their ENTRY and FRAME events in the stream, which
// is the same in both passes. A call without a verdict is kept.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "analyzer/machine/coroutine.h"

namespace luatrace::analyze {

// The verdicts of one stream: one bit per call, up to the last call that is dropped.
class StreamVerdicts {
 public:
  bool drops(CallNumber call) const {
    return call / 64 < bits_.size() && (bits_[call / 64] >> call % 64 & 1);
  }
  void drop(CallNumber call, bool dropped) {
    if (call / 64 >= bits_.size()) {
      if (!dropped) return;
      bits_.resize(call / 64 + 1);
    }
    const uint64_t bit = uint64_t{1} << call % 64;
    bits_[call / 64] = dropped ? bits_[call / 64] | bit : bits_[call / 64] & ~bit;
  }

 private:
  std::vector<uint64_t> bits_;
};

class CallVerdicts {
 public:
  // Returns null if all calls of the stream are kept.
  const StreamVerdicts* find(StreamId stream) const {
    auto it = streams_.find(stream);
    return it == streams_.end() ? nullptr : &it->second;
  }
  StreamVerdicts& operator[](StreamId stream) { return streams_[stream]; }
  // Adds the verdicts of other streams.
  void add(CallVerdicts&& other) { streams_.merge(other.streams_); }

 private:
  std::map<StreamId, StreamVerdicts> streams_;
};

}  // namespace luatrace::analyze
