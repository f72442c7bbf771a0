// SPDX-License-Identifier: MIT
// The filters that do not depend on functions: Lua VMs, threads, coroutines and time. And the node
// of the call tree to which the calls of a coroutine are attached.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyzer/collect/placement.h"
#include "analyzer/filter/filter_plan.h"
#include "analyzer/machine/streams.h"
#include "base/random_hash.h"

namespace luatrace::analyze {

class Scope {
 public:
  Scope(const FilterPlan& plan, const TraceFacts& facts);

  void stream(StreamId number);  // The next events are of this stream.
  void on_thread(ThreadId tid);
  StreamId number() const { return stream_->number; }  // Of the current stream.
  ThreadId tid() const { return stream_->tid; }
  bool wanted() const { return stream_->vm_wanted && stream_->thread_wanted; }
  bool wanted(const Coroutine& co) const;
  bool is_of_coroutines() const { return !options_.coroutines.empty(); }
  bool has(uint64_t tick) const { return tick >= plan_.from && tick <= plan_.to; }
  // Whether anything ran in a coroutine that matches the n-th --coroutine filter.
  bool matched(size_t n) const { return matched_[n]; }
  void add(const Scope& other);

  // Returns the node of the raw tree to which the calls of `co` are attached; `by`: its resumer,
  // or null.
  uint32_t base(Placement& placement, const Coroutine& co, const Coroutine* by) const;

 private:
  struct Stream {
    StreamId number;
    ThreadId tid;
    uint64_t address = 0;  // Of the Lua VM.
    bool vm_wanted = true, thread_wanted = true;
  };
  bool is_thread_wanted(ThreadId tid) const;
  uint32_t group_root(Placement& placement, const Coroutine& co, const Coroutine* by) const;

  const FilterPlan& plan_;
  const FilterOptions& options_;
  const TraceFacts& facts_;
  std::unordered_map<StreamId, Stream, RandomHash> streams_;
  Stream* stream_ = nullptr;
  mutable std::vector<char> matched_;  // By --coroutine filter.
};

}  // namespace luatrace::analyze
