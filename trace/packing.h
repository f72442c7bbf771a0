// SPDX-License-Identifier: MIT
// Compressed payloads (LT_BLOCK_F_ZSTD): how they are made and how they are undone.
//
// A payload is one zstd frame. In EVENTS blocks the time of each word (its upper 40 bits) is first
// replaced by its difference to the word before, of the first word to base_tick: times of a stream
// differ little from one to the next, and the compressor finds the same few words again and again.
// It is done to every word alike, continuation words too, so that undoing needs no understanding.
//
// Invariant: unpack() allocates at most LT_PACKED_MAX bytes whatever the payload says, and what it
// gives has exactly the size that the header promises.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "luatrace_format.h"

namespace luatrace {

constexpr int kMinCompression = 1, kMaxCompression = 19;  // Levels of zstd that are of use here.

class Packer {
 public:
  explicit Packer(int level);
  ~Packer();
  Packer(Packer&&) noexcept;

  // The payload for the file and, in `block`, raw_size and LT_BLOCK_F_ZSTD. Empty, with `block` as
  // it was, if it is not worth it (too small, no smaller) or not allowed (longer than
  // LT_PACKED_MAX, words that are cut). Valid until the next call.
  std::span<const std::byte> pack(lt_block& block, std::span<const std::byte> payload);

 private:
  struct Context;
  std::unique_ptr<Context> context_;
  int level_;
  std::vector<uint64_t> words_;
  std::vector<std::byte> packed_;
};

class Unpacker {
 public:
  Unpacker();
  ~Unpacker();

  // Undoes pack() into `out`, which has room for raw_size bytes afterwards (its last word may be
  // partly unused). Returns nullptr, or why it cannot be done.
  const char* unpack(const lt_block& block, std::span<const uint8_t> payload,
                     std::vector<uint64_t>& out);

 private:
  struct Context;
  Context& context();
  std::unique_ptr<Context> context_;
};

}  // namespace luatrace
