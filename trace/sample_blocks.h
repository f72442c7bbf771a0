// SPDX-License-Identifier: MIT
// Collects the samples of one stream and writes them as SAMPLES blocks.
//
// Invariant: a block is not longer than what is compressed (LT_PACKED_MAX), and has the samples in
// the order in which they were added.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "luatrace_format.h"
#include "trace/trace_writer.h"

namespace luatrace {

class SampleBlocks {
 public:
  // `writer` must outlive this object. The stream is to be described with LTF_SAMPLED.
  SampleBlocks(TraceWriter& writer, uint32_t stream) : writer_(writer) { info_.stream = stream; }

  // Takes a sample; frames: the innermost first (see append_sample()). Writes a block if it is
  // full. Functions that the sample uses must be written before that: at latest now. Errors are the
  // writer's.
  void add(const lt_sample& sample, std::span<const uint64_t> frames,
           const lt_sample_code* code = nullptr);
  // Writes what has been collected, if anything.
  void flush();

  uint64_t samples() const { return samples_; }  // added, written or not
  size_t pending_bytes() const { return records_.size(); }

 private:
  TraceWriter& writer_;
  SampleBlockInfo info_;  // of the block being collected
  std::vector<std::byte> records_;
  uint64_t samples_ = 0;
};

}  // namespace luatrace
