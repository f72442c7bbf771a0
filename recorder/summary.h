// SPDX-License-Identifier: MIT
// The last messages: the contents of each file, losses, and the next command. The outputs are
// closed by then.
#pragma once

#include <string>
#include <vector>

#include "recorder/backend/options.h"
#include "recorder/outputs.h"

namespace luatrace::record {

// diagnosis: lines that say why nothing was recorded. Removes empty files if there are several;
// marks the outputs as failed if one is incomplete.
void summarize(const Options& options, Outputs& outputs, const std::vector<std::string>& diagnosis);

}  // namespace luatrace::record
