// SPDX-License-Identifier: MIT
// Parsers for the payloads of blocks other than EVENTS, which check every length. Each returns
// false if the payload is malformed; records before the bad one are kept.
#pragma once

#include <vector>

#include "analyzer/read/block_reader.h"
#include "analyzer/read/model.h"

namespace luatrace::analyze {

bool parse_process(const Block& block, ProcessInfo& out);
bool parse_stream(const Block& block, StreamInfo& out);
bool parse_functions(const Block& block, std::vector<FunctionInfo>& out);
bool parse_maps(const Block& block, std::vector<MapInfo>& out);
bool parse_clock(const Block& block, lt_clock_info& out);
bool parse_end(const Block& block, EndInfo& out);

}  // namespace luatrace::analyze
