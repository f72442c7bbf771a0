// SPDX-License-Identifier: MIT
// Whether a trace has samples or events: decided by its notes and its first stream.
#pragma once

#include "analyzer/read/input.h"

namespace luatrace::analyze {

// Consumes nothing. Looks at the beginning of the file only: where a damaged or strange file has no
// stream there, it is taken for one with events.
bool is_sampled(Input& input);

}  // namespace luatrace::analyze
