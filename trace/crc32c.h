// SPDX-License-Identifier: MIT
// CRC-32C (Castagnoli), the checksum of every block and header of a trace file.
// Invariant: the hardware and the table path give the same result for any bytes at any alignment.
#pragma once

#include <cstddef>
#include <cstdint>

namespace luatrace {

// Checksum of `size` bytes at `data`. `crc` is the checksum of the bytes before them, if any.
uint32_t crc32c(const void* data, size_t size, uint32_t crc = 0);

// The two implementations of crc32c(), for tests and benchmarks.
uint32_t crc32c_table(const void* data, size_t size, uint32_t crc = 0);
// Only where crc32c_has_hardware() says so.
uint32_t crc32c_hardware(const void* data, size_t size, uint32_t crc = 0);
bool crc32c_has_hardware();

}  // namespace luatrace
