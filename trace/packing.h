// SPDX-License-Identifier: MIT
// Compressed payloads (LT_BLOCK_F_ZSTD): how they are made and decompressed.
//
// A payload is one zstd frame. In EVENTS blocks the time of each word (its upper 40 bits) is first
// replaced by the difference from the word before, and that of the first word by its difference
// from base_tick: the differences of a stream repeat, so the compressor finds the same few words
// again and again. All words are treated alike, continuation words too, so that decompression need
// not understand them.
//
// Invariant: unpack() allocates up to LT_PACKED_MAX bytes whatever the payload says, and its
// output has exactly the size that the header promises.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "luatrace_format.h"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

namespace luatrace {

// What zstd allocates.
struct FreeZstd {
  void operator()(ZSTD_CCtx_s* context) const;
  void operator()(ZSTD_DCtx_s* context) const;
};

constexpr int kMinCompression = 1, kMaxCompression = 19;  // Useful levels of zstd.

class Packer {
 public:
  explicit Packer(int level);

  // The payload for the file; sets raw_size and LT_BLOCK_F_ZSTD in `block`. Empty, with `block`
  // unchanged, if compression does not pay (too small, not smaller) or is not allowed (longer than
  // LT_PACKED_MAX, not whole words). Valid until the next call.
  std::span<const std::byte> pack(lt_block& block, std::span<const std::byte> payload);

 private:
  std::unique_ptr<ZSTD_CCtx_s, FreeZstd> context_;
  int level_;
  std::vector<uint64_t> words_;
  std::vector<std::byte> packed_;
};

class Unpacker {
 public:
  Unpacker() = default;
  ~Unpacker();

  // Returns nullptr, or why unpack() refuses the block by the sizes in its header alone.
  static const char* wrong_size(const lt_block& block);

  // Decompresses into `out`, which then has raw_size bytes (its last word may be partly unused).
  // Returns nullptr, or why it is not possible.
  const char* unpack(const lt_block& block, std::span<const uint8_t> payload,
                     std::vector<uint64_t>& out);

 private:
  std::unique_ptr<ZSTD_DCtx_s, FreeZstd> context_;  // since there was something to unpack
};

}  // namespace luatrace
