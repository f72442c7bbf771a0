// SPDX-License-Identifier: MIT
// The text form of a trace, read. It is turned into the binary form in memory, so that there is
// one meaning only; docs/semantics.md has the grammar, output/dump.h the way back.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/read/input.h"

namespace luatrace::analyze {

// Does the input begin with "#luatrace-text"? Consumes nothing.
bool is_text_trace(Input& input);

// The whole input as a binary trace. Throws Unreadable naming file, line and what is wrong.
std::vector<uint8_t> text_to_binary(Input& input);

}  // namespace luatrace::analyze
