// SPDX-License-Identifier: MIT
// Words of the text form for numbers of the format; used by its reader and its writer.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "luatrace_format.h"

namespace luatrace::analyze {

// Events, from LT_ENTRY on.
inline constexpr std::array<std::string_view, 6> kEventNames = {"entry",  "return",  "tail",
                                                                "resume", "suspend", "frame"};
// Kinds of LT_EXT that have one number as operand.
inline constexpr std::pair<std::string_view, uint32_t> kNumberedNames[] = {{"create", LTX_CREATE},
                                                                           {"collect", LTX_COLLECT},
                                                                           {"switch", LTX_SWITCH},
                                                                           {"thread", LTX_THREAD}};
inline constexpr std::array<std::string_view, 3> kSuspendNames = {"yield", "done", "error"};
inline constexpr std::array<std::string_view, 4> kStackNames = {"activate", "resumed", "loss",
                                                                "fork"};
inline constexpr std::array<std::string_view, 3> kMarkNames = {"begin", "end", "open"};
inline constexpr std::array<std::string_view, 5> kWatchNames = {"hit", "found", "noline", "full",
                                                                "done"};
inline constexpr std::array<std::string_view, 4> kStopNames = {"detach", "close", "orphan", "fail"};
inline constexpr std::array<std::string_view, 6> kTraceNames = {"start", "stop", "abort",
                                                                "flush", "exit", "off"};
inline constexpr std::array<std::string_view, 3> kCpuNames = {"off", "preempted", "unknown"};
inline constexpr std::array<std::string_view, 6> kFunctionNames = {"none", "lua",    "c",
                                                                   "ff",   "kernel", "label"};
inline constexpr std::array<std::string_view, 6> kSampleNames = {
    "native", "interpreter", "compiled", "c", "collector", "compiler"};
inline constexpr std::array<std::string_view, 4> kClockNames = {"none", "tsc", "monotonic",
                                                                "cntvct"};

// Returns the index of a word; N if it is none of them.
template <size_t N>
size_t place_of(const std::array<std::string_view, N>& names, std::string_view word) {
  return static_cast<size_t>(std::find(names.begin(), names.end(), word) - names.begin());
}

// Returns the word for a number, or the number itself if it has none.
template <size_t N>
std::string name_of(const std::array<std::string_view, N>& names, uint64_t value) {
  return value < N ? std::string(names[value]) : std::to_string(value);
}

}  // namespace luatrace::analyze
