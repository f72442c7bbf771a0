// SPDX-License-Identifier: MIT
// Names of C++ functions as they are written, from those that the linker knows.
//
// Invariant: bounded by kLongestName, in time too: a name refers back to its parts, so 300
// characters can stand for gigabytes.
#pragma once

#include <cstddef>
#include <string>

namespace luatrace::analyze {

constexpr size_t kLongestName = 16 * 1024;  // Bytes of a function's name, before "...".

// The text, of which no more than `most` bytes are looked at; what is longer ends in "...".
std::string cut_text(const char* text, size_t most);
// Names that are not C++'s, or would be longer than kLongestName, stay as they are.
std::string demangle(const char* name);

}  // namespace luatrace::analyze
