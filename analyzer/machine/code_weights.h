// SPDX-License-Identifier: MIT
// CodeWeights: how the time inside segments is apportioned, if there are samples of the same
// process: not by the bytes of machine code alone, but by those times a factor for each piece of
// code.
//
// A piece is the code between two events of a trace. If all code took as long as its bytes and
// costs say, a piece that ran so many times would have E of the samples, and it has n. Its factor
// begins as that of its kind, which is all other code of the Lua VM between the same two events, in
// whatever trace: f = (n + 1) / (E + 1), with the sums of those. That is the mean of a Gamma
// distribution around 1, known from one sample, after n events of a Poisson distribution. Around f
// the piece has a factor of its own: f * (n + 1) / (E * f + 1). So code without samples counts like
// other code of its kind, and a kind without samples by its size. Code that was compiled again,
// with the same number, size and pieces, is one trace.
//
// Invariant: the weights depend on the trace and on the samples alone, not on the order of streams
// or on the number of threads. A stream whose VM has no samples has no weights.
#pragma once

#include <cstdint>
#include <map>

#include "analyzer/machine/code_samples.h"
#include "analyzer/machine/code_scale.h"
#include "analyzer/machine/segment_runs.h"
#include "analyzer/read/model.h"

namespace luatrace::analyze {

class CodeWeights {
 public:
  CodeWeights() = default;
  CodeWeights(const SegmentRuns& runs, const CodeSamples& samples);

  // Null: that stream has none.
  const StreamWeights* find(StreamId stream) const;
  // That were used.
  uint64_t samples() const { return samples_; }

 private:
  std::map<StreamId, StreamWeights> streams_;
  uint64_t samples_ = 0;
};

}  // namespace luatrace::analyze
