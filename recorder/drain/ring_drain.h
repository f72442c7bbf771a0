// SPDX-License-Identifier: MIT
// RingDrain: moves the content of one ring into an Output, block by block. What the output cannot
// take stays in the ring: when that is full, the VM drops events and counts them. Invariants:
// functions are written before the words that use them; a block is zeroed and released only when
// every word of it was taken; nothing read from the ring is trusted: a ring that contradicts itself
// is given up and reported as damaged.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "recorder/drain/output.h"
#include "recorder/drain/ring_memory.h"
#include "trace/depth_filter.h"
#include "trace/event_blocks.h"

namespace luatrace::record {

class RingDrain {
 public:
  // stream: its number in output. max_depth 0: no limit.
  RingDrain(std::unique_ptr<RingMemory> ring, std::shared_ptr<Output> output, uint32_t stream,
            uint32_t max_depth);

  // One pass: takes full blocks and, if none have come for a while, the words so far of the block
  // that is being filled; shows the target that the recorder is alive. Stops at the monotonic time
  // until_ns (but takes at least a block). Returns the number of words taken.
  size_t poll(uint64_t until_ns);

  // Takes what there is now and writes it out.
  void flush();
  // Takes everything that is left and writes it out, whether the output is ready or not. The
  // target's clock no longer matters: the ring is complete, its owner is gone or was asked to stop.
  void finish();
  bool finished() const { return finished_; }

  // The owner is gone, or nothing more will come: the next poll() is the last.
  void set_complete() { complete_ = true; }
  void detach() { ring_->set_detach(); }
  void set_alive() { ring_->set_alive(now()); }

  // Were there C functions since the last call? Then a library may have been loaded.
  bool saw_c_functions() { return std::exchange(c_functions_, false); }

  Output& output() { return *output_; }
  const RingMemory& ring() const { return *ring_; }
  const std::string& damage() const { return damage_; }  // empty: none
  // How long the ring can be left alone, in ns, at the highest rate that a target is known to
  // reach.
  uint64_t patience_ns() const;

 private:
  void take_rest();
  size_t take_full_blocks(uint64_t head, uint64_t until_ns);
  bool take_block();
  size_t take_partial_block();
  size_t take(std::span<const uint64_t> words);
  void take_functions();
  bool take_function(std::span<const std::byte> meta, uint64_t& tail, uint64_t head);
  void write_functions();
  void give_up(const std::string& why);
  void report_last_loss();
  void add_totals();
  uint64_t now() const { return read_tick(ring_->info().clock); }

  std::unique_ptr<RingMemory> ring_;
  std::shared_ptr<Output> output_;
  uint32_t stream_;
  EventBlocks events_;
  std::optional<DepthFilter> filter_;
  std::vector<uint64_t> scratch_, kept_;
  std::vector<std::byte> functions_;  // to be written
  uint32_t function_count_ = 0;
  uint64_t tail_ = 0, meta_tail_ = 0;
  size_t pos_ = 0;           // words of block tail_ that were taken
  uint64_t empty_at_ = 0;    // clock when everything had been taken
  uint64_t taken_ns_ = 0;    // when words were last taken
  uint64_t written_ns_ = 0;  // when collected words were last written
  uint64_t moved_ = 0;       // words taken, and words skipped
  bool complete_ = false;
  bool c_functions_ = false;
  bool finished_ = false;
  bool skipped_ = false;
  std::string damage_;
};

}  // namespace luatrace::record
