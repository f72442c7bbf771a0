// SPDX-License-Identifier: MIT
// What every fuzzer does with its input, and what must hold for any input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace luatrace::analyze::fuzz {

using Bytes = std::vector<uint8_t>;

// Aborts, saying which property does not hold.
void require(bool holds, const char* property);

// Called first for each input: aborts if it takes more than LUATRACE_FUZZ_SECONDS (default 20) of
// processor time. libFuzzer's own limit is of the clock, which other work on the machine uses up.
void limit_time();

// A number that depends on all of the input: the choice between several ways to use it, the same
// whenever the input is run again.
uint64_t choice(const uint8_t* data, size_t size);

// Reads a trace in any form, with the sink of sums, of histograms, or of a random filter and
// grouping, as `choice` says, and now and then writes every kind of output of what came out.
// Required: self + idle + unknown + filtered = traced, if a tick is a nanosecond (else each sum is
// rounded for itself), and that the functions' self times and the tree's have the same sum.
void analyse(const Bytes& bytes, uint64_t choice);

// The same for a saved profile. Required: what is read and written again is read again as the same.
void read_saved(const Bytes& bytes, uint64_t choice);

// A binary trace (damage is no reason to refuse it) as text. Required: the text's own trace gives
// the same text. Text that cannot be read at all is ignored.
void round_trip(const Bytes& text);

}  // namespace luatrace::analyze::fuzz
