// SPDX-License-Identifier: MIT
// Records of variable size (struct lt_func, lt_map, lt_sample) in the layout of the format,
// appended to a byte vector: the payload of FUNCS, MAPS and SAMPLES blocks and the content of a
// ring's meta area. Invariant: every record starts and ends at a multiple of 8; unused bytes are
// zero.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "luatrace_format.h"

namespace luatrace {

// Appends f with its strings, each cut at LT_FUNC_STR_MAX bytes. Fills in size, chunk_len and
// name_len.
void append_func(std::vector<std::byte>& out, lt_func f, std::string_view chunk,
                 std::string_view name);

// Appends m with its build-id (cut at 32 bytes) and path (cut at 65535). Fills in the sizes.
void append_map(std::vector<std::byte>& out, lt_map m, std::span<const std::byte> build_id,
                std::string_view path);

// A frame of a sample. value: up to 60 bits.
constexpr uint64_t sample_frame(uint32_t kind, uint64_t value) {
  return value << 4 | kind;
}
constexpr uint64_t function_frame(uint32_t id, uint32_t line = 0) {
  return sample_frame(LT_FRAME_FUNCTION, uint64_t{line} << 32 | id);
}

// Appends s with its frames, innermost first; those after LT_SAMPLE_FRAMES_MAX are left out, and
// the sample is marked as truncated. code: null if the place in compiled code is not known. Fills
// in size, nframes and LTS_CODE.
void append_sample(std::vector<std::byte>& out, lt_sample s, std::span<const uint64_t> frames,
                   const lt_sample_code* code = nullptr);

// The stream's description in the header of a ring or of flushed blocks. process: its number in the
// file.
lt_stream_info stream_info(const lt_ring& ring, uint32_t process);

// Is there a whole, well-formed record at p, of which `size` bytes exist? (A wrap record is not
// one.)
bool func_is_valid(const std::byte* p, size_t size);
// The same for the description of a compiled trace (struct lt_segment).
bool segment_is_valid(const std::byte* p, size_t size);

// Appends the description of a compiled trace. Fills in its size.
void append_segment(std::vector<std::byte>& out, lt_segment s, std::span<const uint32_t> places,
                    std::span<const uint32_t> events, std::span<const uint32_t> costs = {});

}  // namespace luatrace
