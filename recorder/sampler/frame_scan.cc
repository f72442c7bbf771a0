// SPDX-License-Identifier: MIT
#include "recorder/sampler/frame_scan.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <set>
#include <utility>
#include <vector>

namespace luatrace::record::sampler {
namespace {

constexpr size_t kAlign = 4, kHead = 8, kMaxEntries = 1 << 20;
constexpr uint32_t kMaxCommon = 256;  // bytes of a common entry
// How the address of a function is stored, by all compilers for x86-64: 4 bytes, from here.
constexpr uint8_t kFromHere = 0x1b;

uint32_t u32_at(std::string_view bytes, size_t at) {
  uint32_t value = 0;
  if (at <= bytes.size() && bytes.size() - at >= sizeof value)
    std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

// After a number of variable length.
size_t skip_number(std::string_view bytes, size_t at) {
  while (at < bytes.size() && (bytes[at] & 0x80) != 0) at++;
  return at + 1;
}

// Is there a common entry whose functions are stored as kFromHere?
bool is_common(std::string_view bytes, size_t at) {
  const uint32_t size = u32_at(bytes, at);
  if (size < kHead || size > kMaxCommon || u32_at(bytes, at + 4) != 0) return false;
  const std::string_view e = bytes.substr(at + kHead, size - 4);
  if (e.size() < 4 || e[0] != 1 || e[1] != 'z') return false;
  const size_t end = e.find('\0', 1);
  if (end == e.npos) return false;
  size_t data = end + 1;
  for (int i = 0; i < 4; i++) data = skip_number(e, data);  // factors, register, size of the rest
  for (const char c : e.substr(2, end - 2)) {
    if (data >= e.size()) return false;
    if (c == 'R') return static_cast<uint8_t>(e[data]) == kFromHere;
    if (c == 'L') data += 1;
    if (c == 'P') data += (e[data] & 7) == 4 || (e[data] & 7) == 0 ? 9 : 5;
  }
  return false;
}

using Pairs = std::vector<std::pair<int32_t, int32_t>>;

// The functions of the entries from there on, with their entries; empty if these are no table. A
// constant may look like a common entry: LuaJIT has some that it gives to its own tables. steps:
// how many entries may still be read.
Pairs read_entries(std::string_view bytes, size_t at, uint64_t address, uint64_t code,
                   uint64_t code_end, size_t& steps) {
  std::set<size_t> common;
  Pairs pairs;
  for (; steps > 0; at += 4 + u32_at(bytes, at), steps--) {
    const uint32_t size = u32_at(bytes, at);
    if (size == 0 && at + 4 <= bytes.size()) break;  // the end
    if (size < kHead || size > bytes.size() || at + 4 > bytes.size() - size) return {};
    if (is_common(bytes, at)) {
      common.insert(at);
      continue;
    }
    if (!common.contains(at + 4 - u32_at(bytes, at + 4))) return {};
    const auto distance = static_cast<int32_t>(u32_at(bytes, at + kHead));
    const uint64_t function = address + at + kHead + static_cast<uint64_t>(int64_t{distance});
    if (function < code || function >= code_end) continue;  // in another segment
    pairs.emplace_back(static_cast<int32_t>(function - address), static_cast<int32_t>(at));
  }
  return pairs;
}

}  // namespace

std::string scan_frames(std::string_view bytes, uint64_t address, uint64_t code,
                        uint64_t code_end) {
  Pairs pairs;
  size_t steps = kMaxEntries;
  for (size_t at = 0; at + kHead < bytes.size() && pairs.empty() && steps > 0; at += kAlign)
    if (is_common(bytes, at)) pairs = read_entries(bytes, at, address, code, code_end, steps);
  std::sort(pairs.begin(), pairs.end());
  std::string table(pairs.size() * sizeof pairs[0], 0);
  if (!pairs.empty()) std::memcpy(table.data(), pairs.data(), table.size());
  return table;
}

}  // namespace luatrace::record::sampler
