// SPDX-License-Identifier: MIT
// Stacks as text and as JSON. Everything in them is untrusted: it is escaped.
#pragma once

#include <string>

#include "recorder/stack/snapshot.h"

namespace luatrace::record::stack {

// Coroutines with the same calls in the same state are listed once, with their number.
std::string stacks_text(Stacks& stacks, const std::string& process);
std::string stacks_json(Stacks& stacks, const std::string& command);

}  // namespace luatrace::record::stack
