// SPDX-License-Identifier: MIT
// Random traces as those of nginx: some coroutines work for requests, some functions are blocks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace luatrace::analyze {

// Says for which request coroutines work, here and there.
std::string with_requests(const std::string& text, uint64_t seed);
// With some of the functions as blocks of phases.
std::string with_phases(std::string text);

// A random trace (random_trace()) with requests, for every second seed with phases.
std::string random_requests(uint64_t seed, const std::string& clock = "mult=3 shift=1");
// The same as a file, which is damaged for two of four seeds.
std::vector<uint8_t> maybe_damaged(const std::string& text, uint64_t seed);
// What is a request: the host says it, or calls of functions, or coroutines.
std::vector<std::string> random_request_by(uint64_t seed);

}  // namespace luatrace::analyze
