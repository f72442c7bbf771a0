// SPDX-License-Identifier: MIT
#include "trace/sample_blocks.h"

#include <algorithm>

#include "trace/records.h"

namespace luatrace {

void SampleBlocks::add(const lt_sample& sample, std::span<const uint64_t> frames,
                       const lt_sample_code* code) {
  const size_t size = sizeof sample + 8 * std::min<size_t>(frames.size(), LT_SAMPLE_FRAMES_MAX) +
                      (code ? sizeof *code : 0);
  if (records_.size() + size > LT_PACKED_MAX) flush();
  const bool first = info_.count == 0;
  info_.base_tick = first ? sample.tick : std::min(info_.base_tick, sample.tick);
  info_.end_tick = first ? sample.tick : std::max(info_.end_tick, sample.tick);
  append_sample(records_, sample, frames, code);
  info_.count++;
  samples_++;
}

void SampleBlocks::flush() {
  if (info_.count == 0) return;
  writer_.write_samples(info_, records_);
  records_ = {};
  info_.count = 0;
}

}  // namespace luatrace
