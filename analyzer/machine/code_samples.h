// SPDX-License-Identifier: MIT
// CodeSamples: where in compiled code samples were taken, of a trace of luatrace-record --sample.
//
// A process is known by its id, a Lua VM by its address, a compiled trace by its number in the VM
// and by the bytes of its machine code: the VM uses a number again once the trace is discarded.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <vector>

#include "analyzer/read/model.h"

namespace luatrace::analyze {

struct SampledVm {
  int32_t pid = 0;
  uint64_t address = 0;
  auto operator<=>(const SampledVm&) const = default;
};

struct CompiledTrace {
  uint32_t number = 0, bytes = 0;
  auto operator<=>(const CompiledTrace&) const = default;
};

class CodeSamples : public TraceSink {
 public:
  // By trace: the offset of each sample in its machine code.
  using Offsets = std::map<CompiledTrace, std::vector<uint32_t>>;

  void on_process(const ProcessInfo& info) override { pids_[info.number] = info.pid; }
  void on_stream(const StreamInfo& info) override { processes_[info.number] = info.process; }
  void on_samples(const SampleBlock& block) override;

  // Null: there are none.
  const Offsets* find(const SampledVm& vm) const;

 private:
  std::map<ProcessId, int32_t> pids_;
  std::map<StreamId, ProcessId> processes_;
  std::map<SampledVm, Offsets> samples_;
};

}  // namespace luatrace::analyze
