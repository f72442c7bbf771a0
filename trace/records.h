// SPDX-License-Identifier: MIT
// Records of variable size (struct lt_func, struct lt_map) in the layout of the format, appended to
// a byte vector: the payload of FUNCS and MAPS blocks and the content of a ring's meta area.
// Invariant: every record starts and ends at a multiple of 8 and is zero where nothing was said.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "luatrace_format.h"

namespace luatrace {

// Appends f with its strings, cut at LT_FUNC_STR_MAX bytes. size, chunk_len, name_len are filled
// in.
void append_func(std::vector<std::byte>& out, lt_func f, std::string_view chunk,
                 std::string_view name);

// Appends m with its build-id (cut at 32 bytes) and path (cut at 65535). The sizes are filled in.
void append_map(std::vector<std::byte>& out, lt_map m, std::span<const std::byte> build_id,
                std::string_view path);

// What the header of a ring, or of blocks that are handed over, says of the stream in it. process:
// its number in the file.
lt_stream_info stream_info(const lt_ring& ring, uint32_t process);

// Is the record at p, of which size bytes are there, whole and well-formed? (A wrap record is not.)
bool func_is_valid(const std::byte* p, size_t size);

}  // namespace luatrace
