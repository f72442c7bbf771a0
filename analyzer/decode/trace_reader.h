// SPDX-License-Identifier: MIT
// Reads one trace, binary or text, and hands its contents to a TraceSink in the file's order.
#pragma once

#include <functional>

#include "analyzer/decode/diagnostics.h"
#include "analyzer/decode/input.h"
#include "analyzer/decode/model.h"

namespace luatrace {

// Called after each block with the offset reached.
using Progress = std::function<void(uint64_t offset)>;

// The clock that a file header tells of.
Clock clock_of(const lt_file_header& header);

// Reads all of `input` (recognised by its first bytes). Damage goes to `diagnostics`, reading goes
// on. Throws Unreadable if it cannot be read at all.
void read_trace(Input& input, Diagnostics& diagnostics, TraceSink& sink,
                const Progress& progress = {});

}  // namespace luatrace
