// SPDX-License-Identifier: MIT
// A trace file taken apart into its blocks, to be changed, compressed and put together again.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "luatrace_format.h"

namespace luatrace::analyze {

struct Parts {
  lt_file_header header;
  std::vector<std::pair<lt_block, std::vector<uint8_t>>> blocks;
};

Parts parts_of(const std::vector<uint8_t>& bytes);
// The parts of a text trace, with payloads compressed where that makes them smaller.
Parts packed_parts(const std::string& text);
// Puts the parts together, with correct checksums even if the sizes are wrong.
std::vector<uint8_t> join(Parts parts);

}  // namespace luatrace::analyze
