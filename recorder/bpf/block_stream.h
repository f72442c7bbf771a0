// SPDX-License-Identifier: MIT
// BlockStream: one Lua VM that flushes its event words in chunks (LT_CHUNK_*). Chunks that were
// missed are found by their numbers and written as losses.
//
//   chunk -> drop what we have already -> drop reports of known stacks -> SegmentWords ->
//   WordFilter -> DepthFilter -> CpuTime -> EventBlocks
//
// A segment stands for all events since the word before it. So where a chunk was missed, the rest
// of a path whose beginning was in it is left out, too; and so is a segment whose description was
// missed. Both count as a loss of one event, which stands for more.
//
// Invariants: descriptions are written before the words that use them, once; every event up to
// next() is in the file, left out by a filter, or counted as lost. The contents of chunks come from
// the traced program and are not trusted. Segments and filters exclude each other.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

#include "recorder/bpf/word_filter.h"
#include "recorder/drain/cpu_time.h"
#include "recorder/drain/output.h"
#include "recorder/drain/segment_words.h"
#include "trace/depth_filter.h"
#include "trace/trace_writer.h"

namespace luatrace::record::bpf {

// How many events there are in these whole records, counted like the VM does.
uint64_t count_events(std::span<const uint64_t> words);

class BlockStream {
 public:
  // Writes the STREAM block. start: from the first chunk; number: events before it. cpu: null:
  // without CPU time.
  BlockStream(std::shared_ptr<Output> output, uint32_t process, const lt_ring& start,
              uint64_t number, const FilterRules& rules, uint32_t max_depth,
              std::unique_ptr<CpuTime> cpu = nullptr);

  uint64_t next() const { return next_; }      // number of the next event
  uint64_t missed() const { return missed_; }  // events of chunks that did not come
  uint64_t lost() const { return missed_ + left_out_; }
  // Was a C function described since the last call?
  bool saw_c_functions() { return std::exchange(c_functions_, false); }
  // Was something lost since the last call that the VM should report again?
  bool wants_reports() { return std::exchange(wants_reports_, false); }
  bool ended() const { return ended_; }  // nothing more will come
  bool may_have_segments() const { return segment_words_.has_value(); }

  void functions(uint64_t number, uint64_t count, std::span<const std::byte> records);
  // Whole records; count: the number of events among them. Returns how many were new.
  uint64_t events(uint64_t number, uint64_t count, std::span<const uint64_t> words);
  // Chunks after this one were lost, or could not be fetched. why: 0 for lack of space, 1 otherwise
  // (and perhaps more than `count`).
  void lose(uint64_t count, uint64_t tick, uint32_t why = 0);
  // reason: LTE_*, or LT_CHUNK_EXIT.
  void end(uint64_t number, uint32_t reason, uint64_t tick);
  void flush();
  // The end of it; adds to the output's totals. Once.
  void finish();

 private:
  bool is_known(uint32_t coroutine) const;
  void know(uint32_t coroutine);
  void forget(uint32_t coroutine);
  void take(std::span<const uint64_t> record, std::vector<uint64_t>& out);
  void take_records(std::span<const uint64_t> words);
  void coroutine_record(std::span<const uint64_t> record);
  bool take_segment(std::span<const std::byte> record, std::vector<std::byte>& fresh);
  bool take_function(std::span<const std::byte> record, std::vector<std::byte>& fresh);
  void write(std::span<const std::byte> records, uint32_t count, uint16_t type);
  bool is_torn(std::span<const uint64_t> record);
  void put_loss(uint64_t count, uint64_t tick, uint32_t why);
  void put(std::span<uint64_t> words);
  void put_ext(uint64_t tick, uint32_t sub, uint32_t arg, std::span<const uint64_t> words);

  std::shared_ptr<Output> output_;
  uint32_t stream_;
  const FilterRules* rules_;
  EventBlocks blocks_;
  std::optional<SegmentWords> segment_words_;  // if there may be segments
  std::optional<WordFilter> filter_;
  std::optional<DepthFilter> depth_;
  std::unique_ptr<CpuTime> cpu_;
  uint64_t next_, next_func_;
  uint64_t missed_ = 0, left_out_ = 0, lost_funcs_ = 0;
  bool ended_ = false, finished_ = false, damaged_ = false, c_functions_ = false;
  bool wants_reports_ = false;
  bool torn_ = false;                       // a path may go on whose beginning was lost
  std::unordered_set<uint32_t> described_;  // a set, so memory is bounded by the file's size
  std::unordered_set<uint32_t> of_vm_;      // of these, collector and compiler
  uint32_t next_place_ = 0;                 // places of segments before that are described
  // Coroutines whose stack the file knows: repeated reports of them are left out.
  std::unordered_set<uint32_t> known_;
  bool whole_ = true;         // nothing was lost so far
  uint32_t fresh_ = 0;        // was just resumed, and not known before
  uint32_t last_known_ = 0;   // in known_: usually the next one is the same
  uint64_t skip_frames_ = 0;  // of a report that is left out
  std::vector<uint64_t> clean_, kept_, shallow_, merged_;
};

}  // namespace luatrace::record::bpf
