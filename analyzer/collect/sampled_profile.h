// SPDX-License-Identifier: MIT
// The call tree of a sampled trace: each sample adds its weight, in ns, to the node of its stack,
// and 1 to that node's number of calls, which counts samples here.
//
// Filters that depend on the call path and groups of functions are those of events (placement.h):
// the stack is walked from the outermost frame inwards as if its calls had just begun. The other
// filters accept or reject whole samples. Samples of waits and of CPU time are never added up: one
// of the two is shown, the other only counted.
//
// Invariant: the weight of each sample of the shown kind is in exactly one of: self time of a node,
// filtered. A stack without any frame, or whose outermost frames are missing, is below the unknown
// callers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "analyzer/collect/placement.h"
#include "analyzer/collect/profile.h"
#include "analyzer/collect/sample_buckets.h"
#include "analyzer/filter/filter_plan.h"
#include "analyzer/machine/streams.h"
#include "analyzer/read/model.h"

namespace luatrace::analyze {

class SampledProfile final : public TraceSink {
 public:
  // What is known of the file before it is read: its functions and mappings (filter/preview.h).
  // `symbols` finds the names of addresses. off_cpu: blocked time is shown; otherwise what
  // the first sample has: CPU time or blocked time. buckets: they are collected, too.
  SampledProfile(const FilterPlan& plan, TraceFacts& facts, const SymbolFinder& symbols,
                 Diagnostics& diagnostics, bool off_cpu, SampleBuckets* buckets = nullptr);
  void limit(NodeBudget* budget);

  void on_header(const Clock& clock, const lt_file_header& header) override;
  void on_process(const ProcessInfo& info) override { facts_.processes[info.number] = info; }
  void on_stream(const StreamInfo& info) override;
  void on_function(const FunctionInfo& info) override;
  void on_map(const MapInfo& info) override;
  void on_note(const std::string& text) override { facts_.notes += text; }
  void on_events(const EventBlock& block) override;
  void on_samples(const SampleBlock& block) override;
  void on_end(const EndInfo& info) override { facts_.end = info; }

  // After everything was read: moves the sums to the profile and the facts. continues: of a trace
  // that is still being recorded, without filters; restart() forgets what it has moved.
  void finish(bool continues = false);
  void restart(NodeBudget* budget);

  // --group-by label:KEY: the values that have groups of their own; null: all.
  const std::unordered_set<std::string>* label_groups = nullptr;

  // In ns instead of ticks.
  const Profile& profile() const { return profile_; }
  const SampleSums& sums() const { return sums_; }
  bool off_cpu() const { return off_cpu_.value_or(false); }  // What is shown.
  uint64_t filtered_ns() const { return filtered_ns_; }
  // The range of time, in ticks, which filters may have made shorter than that of the file.
  std::pair<uint64_t, uint64_t> ticks() const { return {plan_.from, plan_.to}; }

 private:
  struct Stream {
    Stream(FunctionTable& table, Trust& trust, StreamId number) : ids(table, trust, number) {
      sums.stream = number;
      sums.first = UINT64_MAX;
    }
    IdMap ids;
    const std::string* label(const Sample& sample) const;
    std::unordered_map<uint64_t, std::string> labels;  // Values of the label that is wanted, by id.
    StreamSums sums;
    uint32_t next_seq = 0;
    ProcessId process;
  };
  Stream& stream(StreamId number);
  void check_order(Stream& from, const SampleBlock& block);
  void add(Stream& from, const Sample& sample);
  uint64_t weight_of(const Sample& sample);
  bool is_wanted(const Stream& from, const lt_sample& sample);
  uint32_t vm_number(const Stream& from, const lt_sample& sample);
  FunctionId native(ProcessId process, uint64_t address);
  FunctionId function(Stream& from, uint64_t frame);
  void read_frames(Stream& from, const Sample& sample);
  uint32_t root(const Stream& from, const Sample& sample);
  uint32_t phase_root();
  uint32_t enter_coroutine(const Stream& from, const lt_sample& sample, uint32_t root, uint32_t top,
                           uint32_t node, uint64_t id);
  uint32_t enter_stack(const Stream& from, const Sample& sample);

  // One frame of a stack: a function, or the beginning of a coroutine.
  struct Step {
    FunctionId function;     // kCoroutineFunction: what follows is in a coroutine.
    uint64_t coroutine = 0;  // Its id.
  };

  const FilterPlan& plan_;
  const FilterOptions& options_;
  TraceFacts& facts_;
  const SymbolFinder& symbols_;
  Diagnostics& diag_;
  std::optional<bool> off_cpu_;  // What is shown; not known yet without a sample.
  Profile profile_;
  Placement placement_;
  const FunctionId unknown_;  // The function of unknown frames.
  std::map<StreamId, Stream> streams_;
  std::map<std::pair<ProcessId, uint64_t>, FunctionId> by_address_;
  std::map<std::pair<StreamId, uint64_t>, uint32_t> vms_;  // Numbers, by address.
  std::set<std::pair<uint32_t, uint64_t>> coroutines_;     // By number of the Lua VM, and id.
  std::vector<Step> steps_;                                // Of the sample being added.
  SampleSums sums_;
  SampleBuckets* const buckets_;
  std::map<uint32_t, uint64_t> compiled_;  // By node of the raw tree: ns in compiled code.
  uint64_t filtered_ns_ = 0;
  uint64_t all_ns_ = 0;  // Of both kinds.
};

}  // namespace luatrace::analyze
