// SPDX-License-Identifier: MIT
#include "cli/size.h"

#include <charconv>
#include <cstring>

namespace luatrace {

std::optional<uint64_t> parse_size(std::string_view text) {
  uint64_t n = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, n);
  if (error != std::errc() || end - rest > 1) return std::nullopt;
  if (rest == end) return n;
  const char* const units = "kKmMgG";
  const char* const unit = std::strchr(units, *rest);
  if (*rest == 0 || unit == nullptr) return std::nullopt;
  const int shift = 10 * (1 + static_cast<int>(unit - units) / 2);
  if (n > (UINT64_MAX >> shift)) return std::nullopt;
  return n << shift;
}

}  // namespace luatrace
