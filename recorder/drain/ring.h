// SPDX-License-Identifier: MIT
// The ring of a Lua VM: RingMemory maps it, RingDrain moves its contents into an Output, block by
// block. What the output cannot take stays in the ring: when that is full, the VM drops events and
// counts them.
//
// Invariants: the memory is a memfd of ordinary pages that cannot shrink (seals), every address
// returned is inside it, and the geometry is the private copy made when it was checked, because the
// target can change its own; nothing read from the ring is trusted: a ring that contradicts itself
// is given up and reported as damaged. Functions are written before the words that use them; a
// block is zeroed and released only when every word of it was taken.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "luatrace_format.h"
#include "recorder/drain/cpu_time.h"
#include "recorder/drain/output.h"
#include "recorder/drain/segment_words.h"
#include "trace/depth_filter.h"
#include "trace/trace_writer.h"

namespace luatrace::record {

class WatchReader;

class RingMemory {
 public:
  // Maps the ring of fd, which is closed in any case. On refusal: null, and the reason in *why.
  static std::unique_ptr<RingMemory> map(int fd, std::string* why);
  ~RingMemory();
  RingMemory(const RingMemory&) = delete;
  RingMemory& operator=(const RingMemory&) = delete;

  const lt_ring& info() const { return info_; }  // as it was when checked
  uint64_t inode() const { return inode_; }      // as in /proc/PID/maps
  size_t size() const { return size_; }          // of the whole memory, in bytes

  // Words of block number n (modulo the number of blocks).
  std::span<uint64_t> block(uint64_t n) const;
  size_t block_words() const { return info_.block_size / 8; }
  std::span<const std::byte> meta() const { return {base_ + info_.meta_ofs, info_.meta_size}; }

  // The fields that change.
  uint64_t head() const { return load(&lt_ring::head); }
  uint64_t meta_head() const { return load(&lt_ring::meta_head); }
  uint64_t lost() const { return load(&lt_ring::lost); }
  uint64_t lost_since() const { return load(&lt_ring::lost_since); }
  uint64_t meta_lost() const { return load(&lt_ring::meta_lost); }
  bool closed() const { return load(&lt_ring::state) == LT_RING_CLOSED; }
  void set_tail(uint64_t v) { store(&lt_ring::tail, v); }
  void set_meta_tail(uint64_t v) { store(&lt_ring::meta_tail, v); }
  void set_alive(uint64_t tick) { store(&lt_ring::alive, tick); }
  void set_taken() { store(&lt_ring::taken, 1u); }
  void set_detach() { store(&lt_ring::detach, 1u); }
  void set_tick_khz(uint32_t khz) { store(&lt_ring::tick_khz, khz); }

 private:
  RingMemory(std::byte* base, size_t size, const lt_ring& info, uint64_t inode)
      : base_(base), size_(size), info_(info), inode_(inode) {}
  lt_ring* shared() const { return reinterpret_cast<lt_ring*>(base_); }
  template <class T>
  T load(T lt_ring::*field) const {
    return std::atomic_ref<T>(shared()->*field).load(std::memory_order_acquire);
  }
  template <class T>
  void store(T lt_ring::*field, T value) {
    std::atomic_ref<T>(shared()->*field).store(value, std::memory_order_release);
  }

  std::byte* base_;
  size_t size_;
  lt_ring info_;
  uint64_t inode_;
};

// The maximum size of a ring for whose blocks that many bytes were requested (0: the default):
// pages that the target has not touched would be charged to the recorder if the target claimed that
// they hold something.
uint64_t max_ring_size(uint64_t requested);

// What is wrong with a ring of that geometry in a file of that size; empty if nothing.
std::string check_ring(const lt_ring& r, uint64_t file_size);

class RingDrain {
 public:
  // stream: its number in output. max_depth 0: no limit. cpu: null: without CPU time.
  RingDrain(std::unique_ptr<RingMemory> ring, std::shared_ptr<Output> output, uint32_t stream,
            uint32_t max_depth, std::unique_ptr<CpuTime> cpu = nullptr);
  ~RingDrain();
  // It gets all words that are taken from now on.
  void set_watch(std::unique_ptr<WatchReader> watch);

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
  size_t pass_on(std::span<const uint64_t> words);
  void take_functions();
  bool take_function(std::span<const std::byte> meta, uint64_t& tail, uint64_t head);
  bool take_segment(std::span<const std::byte> record);
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
  std::unique_ptr<CpuTime> cpu_;
  std::unique_ptr<WatchReader> watch_;
  std::optional<SegmentWords> segment_words_;  // if its compiled code is recorded as segments
  std::vector<uint64_t> scratch_, kept_, merged_;
  std::vector<std::byte> functions_;  // to be written
  uint32_t function_count_ = 0;
  std::vector<std::byte> segments_;  // the same
  uint32_t segment_count_ = 0;
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
