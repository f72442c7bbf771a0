// SPDX-License-Identifier: MIT
// Sizes as users write them, for the options of all programs.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace luatrace {

// "64K", "8M", "1G" or plain bytes. Empty if it is not such a number or is out of range.
std::optional<uint64_t> parse_size(std::string_view text);

}  // namespace luatrace
