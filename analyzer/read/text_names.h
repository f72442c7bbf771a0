// SPDX-License-Identifier: MIT
// Words of the text form for numbers of the format; used by its reader and its writer.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "luatrace_format.h"

namespace luatrace::analyze {

inline constexpr std::array<std::string_view, 3> kSuspendNames = {"yield", "done", "error"};
inline constexpr std::array<std::string_view, 4> kStackNames = {"activate", "resumed", "loss",
                                                                "fork"};
inline constexpr std::array<std::string_view, 4> kStopNames = {"detach", "close", "orphan", "fail"};
inline constexpr std::array<std::string_view, 4> kFunctionNames = {"none", "lua", "c", "ff"};
inline constexpr std::array<std::string_view, 3> kClockNames = {"none", "tsc", "monotonic"};

// Returns the word for a number, or the number itself if it has none.
template <size_t N>
std::string name_of(const std::array<std::string_view, N>& names, uint64_t value) {
  return value < N ? std::string(names[value]) : std::to_string(value);
}

}  // namespace luatrace::analyze
