// SPDX-License-Identifier: MIT
// Repairs bytes that a fuzzer has changed, so that the reader does not refuse them at once: correct
// checksums and sizes, the first bytes that identify the form. Without it nearly every input would
// end at the first checksum. One of eight is left as it is.
#pragma once

#include <cstddef>
#include <cstdint>

namespace luatrace::analyze::fuzz {

// A binary trace: the header, and each block from one sync word to the next.
void repair_trace(uint8_t* data, size_t size, unsigned seed);
// A saved profile.
void repair_profile(uint8_t* data, size_t size, unsigned seed);

// libFuzzer's change, then the repair.
size_t mutate(uint8_t* data, size_t size, size_t limit, unsigned seed,
              void (*repair)(uint8_t* data, size_t size, unsigned seed));

}  // namespace luatrace::analyze::fuzz
