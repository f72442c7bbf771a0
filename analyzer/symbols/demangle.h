// SPDX-License-Identifier: MIT
// Demangling of C++ names.
//
// Invariant: the result and the time are bounded by kLongestName: because a name can refer back to
// its parts, 300 characters can stand for gigabytes.
#pragma once

#include <cstddef>
#include <string>

namespace luatrace::analyze {

constexpr size_t kLongestName = 16 * 1024;  // Bytes of a function's name, before "...".

// Returns up to `max` bytes of the text, and "..." if it is longer; reads no further than that.
std::string cut_text(const char* text, size_t max);
// Returns names that are not C++ names, or would exceed kLongestName, unchanged.
std::string demangle(const char* name);

}  // namespace luatrace::analyze
