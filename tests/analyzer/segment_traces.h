// SPDX-License-Identifier: MIT
// Random traces with segments: what random_trace() has, and words that stand for iterations of
// compiled code, balanced and not, also of places that do not exist.
#pragma once

#include <cstdint>
#include <string>

namespace luatrace::analyze {

std::string segment_trace(uint64_t seed, const std::string& clock = "mult=3 shift=1");

}  // namespace luatrace::analyze
