// SPDX-License-Identifier: MIT
#include "analyzer/output/columns/encodings.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/leb128.h"

namespace luatrace::analyze {
namespace {

constexpr size_t kGroup = 8;       // Values of a bit-packed group.
constexpr size_t kMiniBlock = 32;  // Values with the same number of bits.
constexpr size_t kMiniBlocks = 4;  // Of a block.
constexpr size_t kBlock = kMiniBlock * kMiniBlocks;

size_t run_length(std::span<const uint32_t> values) {
  size_t n = 1;
  while (n < values.size() && values[n] == values[0]) n++;
  return n;
}

// Stores the values as little-endian T; a loop that the compiler can vectorize.
template <class T>
void store(char* to, std::span<const uint32_t> values) {
  static_assert(std::endian::native == std::endian::little);
  for (size_t i = 0; i < values.size(); i++) {
    const T value = static_cast<T>(values[i]);
    std::memcpy(to + i * sizeof(T), &value, sizeof(T));
  }
}

// values: whole groups, except at the end of the page, where the last one is filled up.
void put_groups(std::string& out, std::span<const uint32_t> values, uint32_t bytes) {
  if (values.empty()) return;
  const size_t groups = (values.size() + kGroup - 1) / kGroup;
  put_leb128(out, groups << 1 | 1);
  const size_t at = out.size();
  out.resize(at + groups * kGroup * bytes);
  char* to = out.data() + at;
  if (bytes == 1) return store<uint8_t>(to, values);
  if (bytes == 2) return store<uint16_t>(to, values);
  store<uint32_t>(to, values);
}

// Appends `values`, each with the low `width` bits.
void put_packed(std::string& out, std::span<const uint64_t> values, uint32_t width) {
  unsigned __int128 bits = 0;
  uint32_t filled = 0;
  const size_t at = out.size();
  out.resize(at + values.size() * width / 8);
  char* to = out.data() + at;
  for (const uint64_t value : values) {
    bits |= static_cast<unsigned __int128>(value) << filled;
    for (filled += width; filled >= 8; filled -= 8, bits >>= 8) *to++ = static_cast<char>(bits);
  }
}

// A block of differences; fewer than kBlock at the end of the page.
void put_block(std::string& out, std::span<const int64_t> deltas) {
  const int64_t least = *std::min_element(deltas.begin(), deltas.end());
  put_zigzag(out, least);
  uint64_t rest[kBlock] = {};
  for (size_t i = 0; i < deltas.size(); i++)
    rest[i] = static_cast<uint64_t>(deltas[i]) - static_cast<uint64_t>(least);
  uint32_t widths[kMiniBlocks] = {};
  for (size_t i = 0; i < kBlock; i++)
    widths[i / kMiniBlock] =
        std::max<uint32_t>(widths[i / kMiniBlock], static_cast<uint32_t>(std::bit_width(rest[i])));
  for (const uint32_t width : widths) out += static_cast<char>(width);
  for (size_t i = 0; i < kMiniBlocks && i * kMiniBlock < deltas.size(); i++)
    put_packed(out, std::span(rest).subspan(i * kMiniBlock, kMiniBlock), widths[i]);
}

}  // namespace

void put_little_endian(std::string& out, uint64_t value, uint32_t bytes) {
  for (uint32_t i = 0; i < bytes; i++) out += static_cast<char>(value >> 8 * i);
}

void put_zigzag(std::string& out, int64_t value) {
  put_leb128(out, static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63));
}

void put_index(std::string& out, uint32_t value, size_t rows, uint32_t bytes) {
  out += static_cast<char>(8 * bytes);
  put_leb128(out, rows << 1);
  put_little_endian(out, value, bytes);
}

void put_indices(std::string& out, std::span<const uint32_t> values, uint32_t bytes) {
  out += static_cast<char>(8 * bytes);
  size_t literal = 0, at = 0;  // values[literal..at] are whole groups that are still to be put.
  while (at < values.size()) {
    const size_t run = run_length(values.subspan(at));
    if (run < kGroup && at + run < values.size()) {
      at = std::min(at + kGroup, values.size());
      continue;
    }
    put_groups(out, values.subspan(literal, at - literal), bytes);
    put_leb128(out, run << 1);
    put_little_endian(out, values[at], bytes);
    literal = at += run;
  }
  put_groups(out, values.subspan(literal, at - literal), bytes);
}

void put_deltas(std::string& out, std::span<const int64_t> values) {
  put_leb128(out, kBlock);
  put_leb128(out, kMiniBlocks);
  put_leb128(out, values.size());
  put_zigzag(out, values.empty() ? 0 : values[0]);
  int64_t deltas[kBlock];
  for (size_t at = 1; at < values.size();) {
    const size_t n = std::min(kBlock, values.size() - at);
    for (size_t i = 0; i < n; i++)
      deltas[i] = static_cast<int64_t>(static_cast<uint64_t>(values[at + i]) -
                                       static_cast<uint64_t>(values[at + i - 1]));
    put_block(out, std::span(deltas).first(n));
    at += n;
  }
}

}  // namespace luatrace::analyze
