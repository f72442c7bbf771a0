// SPDX-License-Identifier: MIT
#include "trace/packing.h"

#include <zstd.h>

#include <cstring>
#include <new>

namespace luatrace {
namespace {

constexpr size_t kMinSize = 256;  // Smaller payloads save less than their headers cost.
constexpr uint64_t kLow = (uint64_t{1} << LT_TIME_SHIFT) - 1;

// Times to differences. The words' low bits are 0, so subtraction wraps the time at 2^40 by itself.
void delta_encode(std::span<const std::byte> from, uint64_t base, std::vector<uint64_t>& to) {
  to.resize(from.size() / 8);
  std::memcpy(to.data(), from.data(), from.size());
  uint64_t before = base << LT_TIME_SHIFT;
  for (uint64_t& word : to) {
    const uint64_t time = word & ~kLow;
    word = (time - before) | (word & kLow);
    before = time;
  }
}

// The inverse.
void delta_decode(std::span<uint64_t> words, uint64_t base) {
  uint64_t time = base << LT_TIME_SHIFT;
  for (uint64_t& word : words) {
    time += word & ~kLow;
    word = time | (word & kLow);
  }
}

// A context takes 160 KB, and many traces are small: each thread keeps one for the next trace.
thread_local std::unique_ptr<ZSTD_DCtx, FreeZstd> spare;

}  // namespace

void FreeZstd::operator()(ZSTD_CCtx* context) const {
  ZSTD_freeCCtx(context);
}
void FreeZstd::operator()(ZSTD_DCtx* context) const {
  ZSTD_freeDCtx(context);
}

Packer::Packer(int level) : context_(ZSTD_createCCtx()), level_(level) {
  if (!context_) throw std::bad_alloc();
}

std::span<const std::byte> Packer::pack(lt_block& block, std::span<const std::byte> payload) {
  const size_t size = payload.size();
  if (size < kMinSize || size > LT_PACKED_MAX) return {};
  if (block.type == LT_BLOCK_EVENTS) {
    if (size % 8) return {};
    delta_encode(payload, block.base_tick, words_);
    payload = std::as_bytes(std::span(words_));
  }
  packed_.resize(ZSTD_compressBound(size));
  const size_t n = ZSTD_compressCCtx(context_.get(), packed_.data(), packed_.size(), payload.data(),
                                     size, level_);
  if (ZSTD_isError(n) || n >= size) return {};
  block.flags |= LT_BLOCK_F_ZSTD;
  block.raw_size = static_cast<uint32_t>(size);
  return std::span(packed_).first(n);
}

Unpacker::~Unpacker() {
  if (context_) spare = std::move(context_);
}

const char* Unpacker::wrong_size(const lt_block& block) {
  if (block.raw_size == 0 || block.raw_size > LT_PACKED_MAX) return "invalid size";
  if (block.payload_size > LT_PACKED_MAX) return "compressed, it is longer than a payload may be";
  if (block.type == LT_BLOCK_EVENTS && block.raw_size % 8) return "its size is not a multiple of 8";
  return nullptr;
}

const char* Unpacker::unpack(const lt_block& block, std::span<const uint8_t> payload,
                             std::vector<uint64_t>& out) {
  if (const char* problem = wrong_size(block)) return problem;
  const size_t size = block.raw_size;
  if (ZSTD_findFrameCompressedSize(payload.data(), payload.size()) != payload.size())
    return "not one zstd frame";
  if (ZSTD_getFrameContentSize(payload.data(), payload.size()) != size)
    return "its size differs from what the frame says";
  out.assign((size + 7) / 8, 0);
  if (!context_) context_ = spare ? std::move(spare) : decltype(spare)(ZSTD_createDCtx());
  if (!context_) throw std::bad_alloc();
  const size_t n =
      ZSTD_decompressDCtx(context_.get(), out.data(), size, payload.data(), payload.size());
  if (ZSTD_isError(n)) return ZSTD_getErrorName(n);
  if (n != size) return "the frame holds less than it says";
  if (block.type == LT_BLOCK_EVENTS) delta_decode(out, block.base_tick);
  return nullptr;
}

}  // namespace luatrace
