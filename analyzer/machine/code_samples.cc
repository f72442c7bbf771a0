// SPDX-License-Identifier: MIT
#include "analyzer/machine/code_samples.h"

namespace luatrace::analyze {

void CodeSamples::on_samples(const SampleBlock& block) {
  const auto process = processes_.find(block.stream);
  if (process == processes_.end()) return;
  const auto pid = pids_.find(process->second);
  if (pid == pids_.end()) return;
  for (const Sample& s : block.samples) {
    const bool in_code = (s.head.flags & LTS_CODE) && s.code.offset < s.code.bytes;
    if (!in_code || (s.head.flags & LTS_OFF_CPU)) continue;
    samples_[{pid->second, s.head.state_addr}][{s.code.trace, s.code.bytes}].push_back(
        s.code.offset);
  }
}

const CodeSamples::Offsets* CodeSamples::find(const SampledVm& vm) const {
  const auto it = samples_.find(vm);
  return it == samples_.end() ? nullptr : &it->second;
}

}  // namespace luatrace::analyze
