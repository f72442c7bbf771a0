// SPDX-License-Identifier: MIT
// The header of a ring that a test makes itself.
#pragma once

#include <unistd.h>

#include <cstdint>

#include "luatrace_format.h"

// Its layout, without what identifies the Lua VM. meta_size: bytes, a power of two.
inline lt_ring ring_header(uint32_t nblocks, uint32_t meta_size) {
  lt_ring r{};
  r.magic = LT_RING_MAGIC;
  r.version = LT_RING_VERSION;
  r.data_ofs = LT_RING_HDR_SIZE;
  r.block_size = LT_RING_BLOCK_SIZE;
  r.nblocks = nblocks;
  r.meta_size = meta_size;
  r.meta_ofs = r.data_ofs + uint64_t{nblocks} * r.block_size;
  r.pid = getpid();
  return r;
}
