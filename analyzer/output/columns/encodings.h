// SPDX-License-Identifier: MIT
// Encodings of the values of a Parquet page, as Encodings.md of the Parquet format describes them.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace luatrace::analyze {

// Appends the lowest `bytes` bytes of the value, up to 8.
void put_little_endian(std::string& out, uint64_t value, uint32_t bytes);
// Appends a signed number as LEB128: 0, -1, 1, -2 ... are 0, 1, 2, 3 ...
void put_zigzag(std::string& out, int64_t value);

// Appends indices into a dictionary: their width in bits, then runs (RLE) and groups of eight
// (bit-packed). The width is that of whole bytes, because zstd finds more in those: `bytes` of
// them, up to 4, which each value must fit into.
void put_indices(std::string& out, std::span<const uint32_t> values, uint32_t bytes);
// The same for `rows` times the same value.
void put_index(std::string& out, uint32_t value, size_t rows, uint32_t bytes);

// Appends DELTA_BINARY_PACKED: the differences of neighbours, 32 of them with the bits that the
// largest one needs.
void put_deltas(std::string& out, std::span<const int64_t> values);

}  // namespace luatrace::analyze
