// SPDX-License-Identifier: MIT
// Random traces as those of nginx: some coroutines work for requests, some functions are blocks.
#pragma once

#include <cstdint>
#include <string>

namespace luatrace::analyze {

// Says for which request coroutines work, here and there.
std::string with_requests(const std::string& text, uint64_t seed);
// With some of the functions as blocks of phases.
std::string with_phases(std::string text);

}  // namespace luatrace::analyze
