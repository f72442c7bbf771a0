// SPDX-License-Identifier: MIT
// Reads the text form of a trace. It is converted to the binary form in memory, so that there is
// only one meaning. docs/semantics.md has the grammar; output/dump.h writes the text form.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/read/input.h"

namespace luatrace::analyze {

// Whether the input begins with "#luatrace-text". Consumes nothing.
bool is_text_trace(Input& input);

// Converts the whole input to a binary trace. Throws Unreadable with file, line and reason.
std::vector<uint8_t> text_to_binary(Input& input);

}  // namespace luatrace::analyze
