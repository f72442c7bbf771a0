// SPDX-License-Identifier: MIT
// CRC-32C. The hardware path runs three independent streams: the crc32 instruction takes three
// cycles, but one can start in each cycle. The results are combined by shifting the first ones over
// the length of the rest (with a table made once). The table path is "slicing by eight".
#include "trace/crc32c.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace luatrace {
namespace {

constexpr uint32_t kPolynomial = 0x82f63b78u;  // 0x1edc6f41, bit-reversed
using Table = std::array<uint32_t, 256>;

constexpr std::array<Table, 8> make_slices() {
  std::array<Table, 8> t{};
  for (uint32_t i = 0; i < 256; i++) {
    uint32_t c = i;
    for (int bit = 0; bit < 8; bit++) c = (c >> 1) ^ ((c & 1) ? kPolynomial : 0);
    t[0][i] = c;
  }
  for (uint32_t i = 0; i < 256; i++)
    for (size_t k = 1; k < 8; k++) t[k][i] = (t[k - 1][i] >> 8) ^ t[0][t[k - 1][i] & 255];
  return t;
}

constexpr std::array<Table, 8> kSlices = make_slices();

uint64_t load64(const unsigned char* p) {
  uint64_t v;
  std::memcpy(&v, p, 8);
  return v;
}

#if defined(__x86_64__)

// Bytes in each of the three streams.
constexpr size_t kLane = 4096;

// How kLane zero bytes change a checksum, for each of its four bytes. The CRC is linear: only the
// 32 single bits are computed and the rest are XORed from them, because every program that checks
// blocks waits for this table.
std::array<Table, 4> make_shift() {
  std::array<Table, 4> t{};
  for (size_t byte = 0; byte < 4; byte++)
    for (uint32_t i = 1; i < 256; i++) {
      const uint32_t less = i & (i - 1);  // i without its lowest bit
      if (less) {
        t[byte][i] = t[byte][less] ^ t[byte][i ^ less];
        continue;
      }
      uint32_t c = i << (8 * byte);
      for (size_t n = 0; n < kLane; n++) c = (c >> 8) ^ kSlices[0][c & 255];
      t[byte][i] = c;
    }
  return t;
}

uint32_t shift_lane(const std::array<Table, 4>& t, uint32_t c) {
  return t[0][c & 255] ^ t[1][(c >> 8) & 255] ^ t[2][(c >> 16) & 255] ^ t[3][c >> 24];
}

__attribute__((target("sse4.2"))) uint32_t three_lanes(const unsigned char* p, uint32_t crc) {
  static const std::array<Table, 4> shift = make_shift();
  uint64_t a = crc, b = 0, c = 0;
  for (size_t i = 0; i < kLane; i += 8) {
    a = _mm_crc32_u64(a, load64(p + i));
    b = _mm_crc32_u64(b, load64(p + kLane + i));
    c = _mm_crc32_u64(c, load64(p + 2 * kLane + i));
  }
  const uint32_t ab = shift_lane(shift, static_cast<uint32_t>(a)) ^ static_cast<uint32_t>(b);
  return shift_lane(shift, ab) ^ static_cast<uint32_t>(c);
}

#endif

}  // namespace

uint32_t crc32c_table(const void* data, size_t size, uint32_t crc) {
  const auto* p = static_cast<const unsigned char*>(data);
  crc = ~crc;
  for (; size >= 8; p += 8, size -= 8) {
    const uint64_t v = load64(p) ^ crc;  // little-endian, as the whole format
    crc = 0;
    for (size_t k = 0; k < 8; k++) crc ^= kSlices[7 - k][(v >> (8 * k)) & 255];
  }
  for (; size > 0; p++, size--) crc = (crc >> 8) ^ kSlices[0][(crc ^ *p) & 255];
  return ~crc;
}

#if defined(__x86_64__)

bool crc32c_has_hardware() {
  return __builtin_cpu_supports("sse4.2");
}

__attribute__((target("sse4.2"))) uint32_t crc32c_hardware(const void* data, size_t size,
                                                           uint32_t crc) {
  const auto* p = static_cast<const unsigned char*>(data);
  uint32_t c32 = ~crc;
  for (; size >= 3 * kLane; p += 3 * kLane, size -= 3 * kLane) c32 = three_lanes(p, c32);
  uint64_t c = c32;
  for (; size >= 8; p += 8, size -= 8) c = _mm_crc32_u64(c, load64(p));
  c32 = static_cast<uint32_t>(c);
  for (; size > 0; p++, size--) c32 = _mm_crc32_u8(c32, *p);
  return ~c32;
}

#else

bool crc32c_has_hardware() {
  return false;
}
uint32_t crc32c_hardware(const void* data, size_t size, uint32_t crc) {
  return crc32c_table(data, size, crc);
}

#endif

uint32_t crc32c(const void* data, size_t size, uint32_t crc) {
  static const bool hardware = crc32c_has_hardware();
  return hardware ? crc32c_hardware(data, size, crc) : crc32c_table(data, size, crc);
}

}  // namespace luatrace
