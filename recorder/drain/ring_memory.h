// SPDX-License-Identifier: MIT
// RingMemory: a mapping of a target's shared memory, checked before use. Invariants: it is a memfd
// of ordinary pages that cannot shrink (seals), every address returned is inside it, and the
// geometry is the private copy made when it was checked, because the target can change its own.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "luatrace_format.h"

namespace luatrace::record {

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

// Is that open file a memfd of ordinary pages? Works with O_PATH descriptors, too, and asks no file
// system that may not answer.
bool is_memfd(int fd);

// What is wrong with a ring of that geometry in a file of that size; empty if nothing.
std::string check_ring(const lt_ring& r, uint64_t file_size);

}  // namespace luatrace::record
