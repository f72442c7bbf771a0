// SPDX-License-Identifier: MIT
#include "repair.h"

#include <cstring>

#include "analyzer/report/saved_profile.h"
#include "luatrace_format.h"
#include "trace/crc32c.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t limit);

namespace luatrace::analyze::fuzz {
namespace {

template <class T>
void put(uint8_t* to, T value) {
  memcpy(to, &value, sizeof value);
}

// The position of the next block's sync word; `size` if there is none.
size_t next_block(const uint8_t* data, size_t from, size_t size) {
  const uint64_t sync = LT_SYNC;
  for (; from + sizeof(lt_block) <= size; from++)
    if (memcmp(data + from, &sync, sizeof sync) == 0) return from;
  return size;
}

// One block of `limit` bytes. Bytes inserted into or removed from its payload are part of it.
void repair_block(uint8_t* data, size_t limit, bool sizes) {
  lt_block b;
  memcpy(&b, data, sizeof b);
  const size_t payload = limit - sizeof b;
  if (sizes && (b.payload_size > payload || payload - b.payload_size > 7)) {
    b.payload_size = static_cast<uint32_t>(payload);
    if (!(b.flags & LT_BLOCK_F_ZSTD)) b.raw_size = b.payload_size;
  }
  if (b.payload_size <= payload) b.payload_crc = crc32c(data + sizeof b, b.payload_size);
  b.header_crc = crc32c(&b, offsetof(lt_block, header_crc));
  memcpy(data, &b, sizeof b);
}

}  // namespace

void repair_trace(uint8_t* data, size_t size, unsigned seed) {
  if (size < sizeof(lt_file_header)) return;
  put(data, LT_FILE_MAGIC);
  put(data + offsetof(lt_file_header, version), LT_FILE_VERSION);
  // Most of the time nanoseconds, so that sums can be compared.
  if (seed & 8) put(data + offsetof(lt_file_header, tick_shift), 0u);
  if (seed & 8) put(data + offsetof(lt_file_header, tick_mult), uint64_t{1});
  put(data + offsetof(lt_file_header, crc), crc32c(data, offsetof(lt_file_header, crc)));
  size_t at = next_block(data, sizeof(lt_file_header), size);
  while (at < size) {
    const size_t next = next_block(data, at + sizeof(lt_block), size);
    repair_block(data + at, next - at, seed & 16);
    at = next;
  }
}

void repair_profile(uint8_t* data, size_t size, unsigned) {
  constexpr size_t kHeader = 32;  // docs/profile-format.md
  if (size < kHeader) return;
  put(data, kProfileMagic);
  put(data + 8, kProfileVersion);
  put(data + 12, static_cast<uint32_t>(kHeader));
  put(data + 16, static_cast<uint64_t>(size - kHeader));
  put(data + 24, crc32c(data + kHeader, size - kHeader));
  put(data + 28, crc32c(data, 28));
}

size_t mutate(uint8_t* data, size_t size, size_t limit, unsigned seed,
              void (*repair)(uint8_t*, size_t, unsigned)) {
  size = LLVMFuzzerMutate(data, size, limit);
  if (seed % 8) repair(data, size, seed / 8);
  return size;
}

}  // namespace luatrace::analyze::fuzz
