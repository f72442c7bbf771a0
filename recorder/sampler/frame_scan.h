// SPDX-License-Identifier: MIT
// The unwind tables of images without a search table: `gcc -static` links .eh_frame, but no
// PT_GNU_EH_FRAME that says where. Invariant: what is found is a whole section, each entry of which
// refers to one before it and to code of the image; the bytes are the traced process's, and may be
// anything.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace luatrace::record::sampler {

// Searches .eh_frame in the bytes of a segment at that address, for code in [code, code_end).
// Returns the pairs of a search table, sorted: distances of a function and of its entry from
// `address`, int32_t each; empty: there is none.
std::string scan_frames(std::string_view bytes, uint64_t address, uint64_t code, uint64_t code_end);

}  // namespace luatrace::record::sampler
