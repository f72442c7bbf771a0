// SPDX-License-Identifier: MIT
// CRC-32C: published vectors, and the two paths against each other and against a bit-wise model.
#include "trace/crc32c.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace luatrace {
namespace {

uint32_t model(const std::vector<unsigned char>& bytes, size_t from, size_t size) {
  uint32_t c = 0xffffffffu;
  for (size_t i = from; i < from + size; i++) {
    c ^= bytes[i];
    for (int bit = 0; bit < 8; bit++) c = (c >> 1) ^ ((c & 1) ? 0x82f63b78u : 0u);
  }
  return ~c;
}

// The check value of the catalogue of CRCs, and RFC 3720, appendix B.4.
TEST(Crc32c, KnownVectors) {
  std::vector<unsigned char> up(32);
  std::iota(up.begin(), up.end(), 0);
  const std::vector<unsigned char> down(up.rbegin(), up.rend()), zeros(32, 0), ones(32, 0xff);
  for (auto* crc : {&crc32c, &crc32c_table}) {
    EXPECT_EQ(0u, crc("", 0, 0));
    EXPECT_EQ(0xe3069283u, crc("123456789", 9, 0));
    EXPECT_EQ(0x8a9136aau, crc(zeros.data(), 32, 0));
    EXPECT_EQ(0x62a8ab43u, crc(ones.data(), 32, 0));
    EXPECT_EQ(0x46dd794eu, crc(up.data(), 32, 0));
    EXPECT_EQ(0x113fdb5cu, crc(down.data(), 32, 0));
  }
}

// Sizes around the three lanes of 4096 bytes, at odd addresses.
TEST(Crc32c, PathsAgree) {
  std::mt19937 rng(7);
  std::vector<unsigned char> bytes(100000);
  for (auto& b : bytes) b = static_cast<unsigned char>(rng());
  for (size_t size : {0, 1, 7, 8, 9, 63, 4096, 12287, 12288, 12289, 24576, 65536, 99990})
    for (size_t from : {0, 1, 5}) {
      const uint32_t want = model(bytes, from, size);
      EXPECT_EQ(want, crc32c_table(&bytes[from], size)) << size << " from " << from;
      if (crc32c_has_hardware()) {
        EXPECT_EQ(want, crc32c_hardware(&bytes[from], size)) << size << " from " << from;
      }
    }
}

TEST(Crc32c, ContinuesWithMoreBytes) {
  const std::string text(30000, 'x');
  const uint32_t first = crc32c(text.data(), 12345);
  EXPECT_EQ(crc32c(text.data(), text.size()), crc32c(&text[12345], text.size() - 12345, first));
}

}  // namespace
}  // namespace luatrace
